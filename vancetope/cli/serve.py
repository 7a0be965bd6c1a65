"""`vancetope serve`: run the Brain until a signal."""

import logging
import os
import signal
import sys
from typing import TYPE_CHECKING, Final

import click

from vancetope.cli.options import chosen_home, common, example

if TYPE_CHECKING:
    import trio

LOG_VARIABLE: Final = "VANCETOPE_LOG"
LEVELS: Final = ("debug", "info", "warning", "error")
#: A stop is clean within this time, or the process ends without having waited.
STOP_S: Final = 9.0


@click.command(
    epilog=example(
        "vancetope serve --port 7717",
        "VANCETOPE_LOG=info vancetope serve --home ~/brain",
    )
)
@click.option("--host", metavar="H", help="Address to listen on. [127.0.0.1]")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="Port to listen on; 0 picks a free one. [7717]",
)
@click.option(
    "--log-level",
    type=click.Choice(LEVELS, case_sensitive=False),
    default="warning",
    envvar=LOG_VARIABLE,
    show_default=True,
    show_envvar=True,
    help="How much to say on stderr.",
)
@click.option("--for-a-run", is_flag=True, hidden=True)
@common
def serve(host: str | None, port: int | None, log_level: str, for_a_run: bool) -> None:  # noqa: FBT001
    """Run the Brain of a home.

    Prints `ready http://HOST:PORT` on stdout when it can be used, and logs to
    stderr. SIGTERM and SIGINT (Ctrl-C) stop it cleanly; a second one at once.
    """
    logging.basicConfig(
        stream=sys.stderr,
        level=log_level.upper(),
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    import trio

    trio.run(_serve, host, port, for_a_run, restrict_keyboard_interrupt_to_checkpoints=True)


async def _serve(host: str | None, port: int | None, for_a_run: bool) -> None:  # noqa: FBT001
    from functools import partial

    import trio

    from vancetope.brain import run_brain
    from vancetope.cli.launch import TAKEN
    from vancetope.clock import SystemClock
    from vancetope.errors import HomeError

    stop = trio.Event()
    brain = partial(
        run_brain,
        chosen_home(),
        clock=SystemClock(),
        stop=stop,
        host=host,
        port=port,
        for_a_run=for_a_run,
    )
    try:
        async with trio.open_nursery() as nursery:
            await nursery.start(stop_on_signal, stop)
            url: str = await nursery.start(_then_leave, nursery, brain)
            click.echo(f"ready {url}")
            sys.stdout.flush()
    except* HomeError as group:
        error = group.exceptions[0]
        # The kernel's word that the lock is held (store.home_lock).
        if for_a_run and isinstance(error.__cause__, BlockingIOError):
            raise click.exceptions.Exit(TAKEN) from None
        raise error from None
