"""Settings by name, as scikit-learn asks for them: `get_params`, `set_params`, names such as training__batch_size."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

from maskdiff.errors import SettingError
from maskdiff.state.settings import argument_names

_BETWEEN = "__"


class Parameters:
    """Gives a dataclass of settings `get_params` and `set_params`, so that scikit-learn can clone and search it."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings by name; with `deep` also the settings of settings, as name__name."""
        own = {name: getattr(self, name) for name in argument_names(type(self))}
        inner = {name: value.get_params() for name, value in own.items() if deep and hasattr(value, "get_params")}
        return own | {f"{name}{_BETWEEN}{key}": value for name, of in inner.items() for key, value in of.items()}

    def set_params(self, **settings: Any) -> Self:
        """Change settings by name, all or, if one is refused, none. Of a frozen object a changed copy is returned."""
        own, nested = split_names(settings)
        known = self.get_params(deep=False)
        unknown = [name for name in (*own, *nested) if name not in known]
        if unknown:
            raise SettingError(f"{type(self).__name__} has no setting {unknown[0]!r}; it has {', '.join(known)}.")
        changed = own | {name: changed_setting(name, (known | own)[name], inner) for name, inner in nested.items()}
        settings_object: Any = self
        checked: Self = replace(settings_object, **changed)
        if type(self).__dataclass_params__.frozen:  # type: ignore[attr-defined]
            return checked
        for name in changed:
            setattr(self, name, getattr(checked, name))
        return self


def split_names(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The settings of an object, and by name of a setting those of that one.

    >>> split_names({"seed": 1, "reconstructor__training__batch_size": 64})
    ({'seed': 1}, {'reconstructor': {'training__batch_size': 64}})
    """
    own: dict[str, Any] = {}
    nested: dict[str, dict[str, Any]] = defaultdict(dict)
    for key, value in settings.items():
        name, between, inner = key.partition(_BETWEEN)
        if between:
            nested[name][inner] = value
        else:
            own[name] = value
    return own, dict(nested)


def changed_setting(name: str, value: Any, settings: Mapping[str, Any]) -> Any:
    """A setting with its own settings changed; what `set_params` returns counts, for a frozen value stays as it is."""
    if not hasattr(value, "set_params"):
        raise SettingError(
            f"{name} is {value!r}, which has no settings of its own such as {next(iter(settings))!r}; "
            f"hand in an object for {name} first."
        )
    return value.set_params(**settings)
