"""What every command understands: `--home`, `--debug`, `--json`, and its example.

Imports nothing costly: every command's `--help` waits for it.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

if TYPE_CHECKING:
    from vancetope.config.home import Home

F = TypeVar("F", bound=Callable[..., Any])

#: How the program was called, where a wrapper knows better than `vancetope`.
PROGRAM_VARIABLE: Final = "VANCETOPE_PROG"


class Chosen:
    """What was said before or after the command's name; the last one counts."""

    home: str | None = None
    debug: bool = False


def program() -> str:
    """The words that call this program, for messages that name a command."""
    return os.environ.get(PROGRAM_VARIABLE) or "vancetope"


def _remember(ctx: click.Context, param: click.Parameter, value: object) -> None:
    chosen = ctx.ensure_object(Chosen)
    if value == "":
        raise click.BadParameter("names no directory", ctx, param)
    if value:
        setattr(chosen, str(param.name), value)


def common(function: F) -> F:
    """Add `--home` and `--debug`."""
    function = click.option(
        "--debug",
        is_flag=True,
        expose_value=False,
        callback=_remember,
        help="Show the traceback of an unexpected error.",
    )(function)
    return click.option(
        "--home",
        metavar="DIR",
        expose_value=False,
        callback=_remember,
        help="The Brain's directory; else VANCETOPE_HOME, else the user's own.",
    )(function)


as_json: Final = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON for programs."
)


def chosen_home() -> "Home":
    """The home that was named, else `VANCETOPE_HOME`, else the default one."""
    from vancetope.config.home import Home, default_home

    chosen = click.get_current_context().find_object(Chosen)
    if chosen is not None and chosen.home is not None:
        return Home(Path(chosen.home).expanduser().absolute())
    return Home(default_home().path.absolute())


def example(*lines: str) -> str:
    """The epilog of a command: how it is called."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)
