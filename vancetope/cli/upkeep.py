"""`vancetope check-config` and `migrate`: the home's files and its database."""

from typing import TYPE_CHECKING

import click

from vancetope.cli.failure import ERROR
from vancetope.cli.options import as_json, chosen_home, common, example

if TYPE_CHECKING:
    from vancetope.config.check import Problem
    from vancetope.config.home import Home


@click.command(
    epilog=example("vancetope check-config", "vancetope check-config --home ~/brain")
)
@as_json
@common
def check_config(as_json: bool) -> None:  # noqa: FBT001
    """Name everything that is wrong in the home's files: where, what, and the fix.

    Exit code 1 if there is an error; a warning is none.
    """
    from vancetope.cli.show import plain, print_json
    from vancetope.config.check import Level, check_home
    from vancetope.processes.workflows.parse import check_workflow_file

    home = chosen_home()
    problems = check_home(home, check_workflow_file)
    if as_json:
        print_json([_row(problem) for problem in problems])
    else:
        for problem in problems:
            click.echo(plain(str(problem)))
        if not problems:
            note = "" if home.path.is_dir() else ", which is not there yet"
            click.echo(f"No problems in {plain(str(home.path))}{note}")
    if any(problem.level is Level.ERROR for problem in problems):
        raise click.exceptions.Exit(ERROR)


def _row(problem: "Problem") -> dict[str, object]:
    error = problem.error
    return {
        "level": problem.level.value,
        "file": error.file,
        "line": error.line,
        "field": error.field,
        "message": error.problem,
        "fix": error.fix,
    }


@click.command(epilog=example("vancetope migrate", "vancetope migrate --home ~/brain"))
@as_json
@common
def migrate(as_json: bool) -> None:  # noqa: FBT001
    """Bring the home's database up to date.

    A Brain does the same when it starts. The old database is kept as a copy beside
    it. Refuses while a Brain runs on the home.
    """
    import trio

    from vancetope.cli.show import print_json
    from vancetope.store.home_lock import hold_home
    from vancetope.store.migrate import latest_version, pending

    home = chosen_home()
    with hold_home(home.path):
        todo = pending(home.database)
        to = latest_version()
        if todo:
            trio.run(_open_and_close, home)
    if as_json:
        applied = [str(migration) for migration in todo]
        print_json({"from": to - len(todo), "to": to, "applied": applied})
        return
    for migration in todo:
        click.echo(f"applied {migration}")
    click.echo(
        f"schema version {to - len(todo)} -> {to}" if todo else f"up to date: {to}"
    )


async def _open_and_close(home: "Home") -> None:
    """Opening the store is what migrates it."""
    from vancetope.clock import SystemClock
    from vancetope.events import Bus
    from vancetope.store.db import open_store

    async with open_store(home.database, clock=SystemClock(), bus=Bus()):
        pass
