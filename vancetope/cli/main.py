"""`vancetope`: the table of commands, and the boundary where errors become lines."""

import sys

if __name__ == "__main__":
    # Before what takes long to import.
    from vancetope.cli.early import stop_cleanly_from_now_on

    stop_cleanly_from_now_on(sys.argv[1:])

from typing import Any, Final

import click

from vancetope import __version__
from vancetope.cli.failure import INTERRUPTED, Failure, leaf_of, line_of
from vancetope.cli.lazy import LazyGroup
from vancetope.cli.options import Chosen, common, example, program

COMMANDS: Final = {
    "demo": ("vancetope.cli.demo:demo", "See it work on a folder of documents."),
    "serve": ("vancetope.cli.serve:serve", "Run the Brain."),
    "client": ("vancetope.cli.client:client", "Lend this machine's files to a Brain."),
    "run": ("vancetope.cli.run:run", "Run a workflow and wait for its result."),
    "ps": ("vancetope.cli.look:ps", "List what runs and what ended within a day."),
    "tasks": ("vancetope.cli.look:tasks", "List the tasks of a process."),
    "why": ("vancetope.cli.look:why", "Say why a task is not running."),
    "result": ("vancetope.cli.look:result", "Show the result of a process."),
    "tools": ("vancetope.cli.inventory:tools", "List tools and where they can run."),
    "project": ("vancetope.cli.inventory:project", "Create and list projects."),
    "token": ("vancetope.cli.token:token", "Make tokens for clients."),
    "check-config": (
        "vancetope.cli.upkeep:check_config",
        "Name everything that is wrong in the home's files.",
    ),
    "migrate": ("vancetope.cli.upkeep:migrate", "Bring the database up to date."),
}


class Boundary(LazyGroup):
    """Nothing but a line and an exit code leaves a command, unless `--debug`."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except (Exception, KeyboardInterrupt, BaseExceptionGroup) as exc:
            error = leaf_of(exc)
            if isinstance(error, KeyboardInterrupt):
                raise click.exceptions.Exit(INTERRUPTED) from None
            if isinstance(error, BrokenPipeError):
                raise error from None
            if isinstance(error, click.ClickException | click.exceptions.Exit):
                raise error from None
            chosen = ctx.find_object(Chosen)
            if chosen is not None and chosen.debug:
                raise
            raise Failure(line_of(error)) from None


@click.group(
    cls=Boundary,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=example("vancetope demo", "vancetope run --help"),
)
@click.version_option(__version__, prog_name="vancetope")
@common
def cli() -> None:
    """A Brain that runs task trees and sends each tool to the machine that can run it.

    Start with `vancetope demo`.
    """
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            # A terminal that lacks a letter shows its number instead of failing.
            reconfigure(errors="backslashreplace")


def main() -> None:
    """Run the command that was called."""
    cli(prog_name=program())


if __name__ == "__main__":
    main()
