"""`vancetope demo`: the product in ten seconds, on a folder of documents."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from vancetope.cli.options import chosen_home, common, example

if TYPE_CHECKING:
    from vancetope.config.home import Home

#: Of this program's own folder; the rest of its text files are lists of packages.
OWN_PATTERN: Final = "*.md"


@click.command(epilog=example("vancetope demo", "vancetope demo --folder ~/Documents"))
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="PATH",
    help="The documents to digest. [this program's own, else the current folder's]",
)
@common
def demo(folder: Path | None) -> None:
    """Start a Brain, digest a folder of documents, and show what runs where.

    The local client connects a moment after the run began: what the Brain can do is
    done by then, and what needs files waits for the client and goes on by itself.
    The folder is only read; the report goes into the demo's own home, which is the
    folder `demo` of the home.
    """
    import trio

    from vancetope.cli.demonstration import Demonstration
    from vancetope.errors import HomeError, HomeTaken

    own = None if folder else _own_folder()
    shown = (folder or own or Path.cwd()).resolve()
    home = _demo_home()
    work = Demonstration(home=home, folder=shown, pattern=OWN_PATTERN if own else None)
    try:
        code = trio.run(work.run)
    except* HomeTaken:
        message = f"the demo's home {home.path} is in use, perhaps by another demo"
        fix = "Try again in a moment, or name another home with --home DIR."
        raise HomeError(message, fix=fix) from None
    raise click.exceptions.Exit(code)


def _demo_home() -> "Home":
    """One within the home, so that a Brain may run there at the same time."""
    from vancetope.config.home import Home

    return Home(chosen_home().path / "demo")


def _own_folder() -> Path | None:
    """The checkout this program runs from, if it does."""
    import vancetope

    root = Path(vancetope.__file__).parent.parent
    return root if (root / "pyproject.toml").is_file() else None
