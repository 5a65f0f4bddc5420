"""What a reconstructor answers, and what it may be able to do besides.

Two methods are needed, `log_prob` and `most_likely`. Everything else is optional: an `Abilities` names it, and
`abilities` is the only place that looks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Protocol, runtime_checkable

from torch import Tensor

from maskdiff.masking import MaskedViews

# What `to_state` returns: plain values that JSON can hold, and tensors.
State = tuple[dict[str, Any], dict[str, Tensor]]


@runtime_checkable
class Reconstructor(Protocol):
    """Anything that can say how likely the hidden values were.

    B rows, K views, F fields. Only the answers for hidden cells are read. See `Abilities` for optional methods.
    """

    def log_prob(self, views: MaskedViews) -> Tensor:
        """log p(true code | visible cells), shape (B, K, F)."""

    def most_likely(self, views: MaskedViews) -> tuple[Tensor, Tensor]:
        """The code it would have guessed for each cell, and its log-probability, each of shape (B, K, F)."""


@dataclass(frozen=True, eq=False)
class Abilities:
    """The optional attributes and methods of a reconstructor, with what holds where it has none.

    uses_level : whether its answers depend on the mask rate, so that equal masks of several levels are answered apart.
    free_up_to : up to this many fields all masks together cost as much as one, so that all of them are used.
    fit : `fit(codes, *, objective, schedule, seed, device, held_out, callback)` returns it fitted. Without it nothing
        is learned.
    tunes : whether `fit` decides anything by the rows `held_out`, such as when to stop; then they are not the rows that
        calibrate. True unless an object says otherwise.
    train_on : `train_on(codes, change, *, part, ...)`, the rest as in `fit`, returns it trained further on rows of a
        schema that knows more codes; `part` says for how long. Without it a detector has to be fitted again.
    left_out : `left_out()` returns the same for rows that are among the normal rows, each as if it were not. Then no
        rows need to be held out to calibrate.
    log_odds : `log_odds(views)` says how much likelier than the true code the likeliest one is, in nats, (B, K, F).
    describe : `describe()` says in words what it is.
    to_state : `to_state()` returns plain values and tensors, from which the class method
        `from_state(plain, tensors, *, schema, device)` makes it again. With both, and its class in `RECONSTRUCTORS`,
        detectors that hold it can be saved.
    """

    uses_level: bool = False
    free_up_to: int = 0
    fit: Callable[..., Any] | None = None
    tunes: bool = True
    train_on: Callable[..., Any] | None = None
    left_out: Callable[[], Any] | None = None
    log_odds: Callable[[MaskedViews], Tensor] | None = None
    describe: Callable[[], str] | None = None
    to_state: Callable[[], State] | None = None


def abilities(reconstructor: Any) -> Abilities:
    """What this reconstructor can do beyond the two answers."""
    found: dict[str, Any] = {one.name: getattr(reconstructor, one.name, one.default) for one in fields(Abilities)}
    return Abilities(**found)
