"""Commands are registered here: each gets the options that all of them have."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from itertools import chain
from typing import Annotated, Any, TypeVar

import typer

from maskdiff.cli.output import Output

Command = TypeVar("Command", bound=Callable[..., Any])


def _stored(name: str) -> Callable[[typer.Context, bool], bool]:
    def store(ctx: typer.Context, value: bool) -> bool:
        setattr(ctx.ensure_object(Output), name, value)
        return value

    return store


def _switch(name: str, text: str, *flags: str) -> inspect.Parameter:
    option = typer.Option(f"--{name}", *flags, help=text, callback=_stored(name), rich_help_panel="Output")
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=False, annotation=Annotated[bool, option])


OUTPUT_OPTIONS = (
    _switch("quiet", "Errors only.", "-q"),
    _switch("json", "The result as JSON."),
    _switch("debug", "Show where an error arose."),
)


@dataclass(frozen=True)
class Group:
    """Marks a parameter that several options make: those of `build`, which is called with them."""

    build: Callable[..., Any]

    def parameters(self) -> list[inspect.Parameter]:
        signature = inspect.signature(self.build)
        return [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in signature.parameters.values()]


class Commands(typer.Typer):
    """Commands that all have --quiet, --json and --debug, and take groups of options as the one thing they make."""

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Command], Command]:
        register = super().command(name, **settings)

        def add(command: Command) -> Command:
            register(_with_shared_options(command))
            return command

        return add


def _with_shared_options(command: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(command, eval_str=True)
    options = {name: _options(parameter) for name, parameter in signature.parameters.items()}
    groups = {name: _group(parameter) for name, parameter in signature.parameters.items()}

    @wraps(command)
    def run(*given: Any, quiet: bool, json: bool, debug: bool, **settings: Any) -> Any:
        for name, group in groups.items():
            if group is not None:
                settings[name] = group.build(**{option.name: settings.pop(option.name) for option in options[name]})
        return command(*given, **settings)

    parameters = sorted(chain(*options.values(), OUTPUT_OPTIONS), key=lambda parameter: parameter.kind)
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _options(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    group = _group(parameter)
    return [parameter] if group is None else group.parameters()


def _group(parameter: inspect.Parameter) -> Group | None:
    return next((each for each in getattr(parameter.annotation, "__metadata__", ()) if isinstance(each, Group)), None)
