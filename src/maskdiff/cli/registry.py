"""Commands are registered here: each gets the options that all of them have."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
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


class Commands(typer.Typer):
    """Commands that all have --quiet, --json and --debug, without each of them taking what it never reads."""

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Command], Command]:
        register = super().command(name, **settings)

        def add(command: Command) -> Command:
            register(_with_output_options(command))
            return command

        return add


def _with_output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(command)
    def run(*given: Any, quiet: bool, json: bool, debug: bool, **settings: Any) -> Any:
        return command(*given, **settings)

    signature = inspect.signature(command, eval_str=True)
    parameters = [*signature.parameters.values(), *OUTPUT_OPTIONS]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run
