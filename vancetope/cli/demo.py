"""`vancetope demo`: the product in ten seconds, on a folder of documents."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vancetope.cli.options import Chosen, chosen_home, common, example

if TYPE_CHECKING:
    from vancetope.config.home import Home


@click.command(epilog=example("vancetope demo", "vancetope demo --folder ~/Documents"))
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="PATH",
    help="The documents to digest. [this program's own, else the current folder]",
)
@common
def demo(folder: Path | None) -> None:
    """Start a Brain, digest a folder of documents, and show what runs where.

    The local client connects a moment after the run began: what the Brain can do is
    done by then, and what needs files waits for the client and goes on by itself.
    The folder is only read; the report goes into the demo's own home.
    """
    import trio

    from vancetope.cli.demonstration import Demonstration

    shown = (folder or _own_folder() or Path.cwd()).resolve()
    work = Demonstration(home=_demo_home(), folder=shown)
    raise click.exceptions.Exit(trio.run(work.run))


def _demo_home() -> "Home":
    """The home that was named, else one beside what the default home holds."""
    from vancetope.config.home import HOME_VARIABLE, Home, default_home

    chosen = click.get_current_context().find_object(Chosen)
    named = chosen is not None and chosen.home is not None
    if named or os.environ.get(HOME_VARIABLE):
        return chosen_home()
    return Home(default_home().path / "demo")


def _own_folder() -> Path | None:
    """The checkout this program runs from, if it does."""
    import vancetope

    root = Path(vancetope.__file__).parent.parent
    return root if (root / "pyproject.toml").is_file() else None
