"""`vancetope serve`: run the Brain until a signal."""

import logging
import os
import sys
from typing import TYPE_CHECKING, Final

import click

from vancetope.cli.options import chosen_home, common, example

if TYPE_CHECKING:
    import trio

    from vancetope.config.home import Home

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

    from vancetope.cli.launch import TAKEN
    from vancetope.errors import HomeTaken

    home = chosen_home()
    if for_a_run and home.path.is_dir():
        # It outlives the command that started it, and shall not hold its folder.
        os.chdir(home.path)
    try:
        trio.run(_serve, home, host, port, for_a_run)
    except* HomeTaken:
        if for_a_run:
            raise click.exceptions.Exit(TAKEN) from None
        raise


async def _serve(
    home: "Home",
    host: str | None,
    port: int | None,
    for_a_run: bool,  # noqa: FBT001
) -> None:
    import trio

    from vancetope.cli.signals import stop_on_signal

    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(stop_on_signal, stop)
        nursery.start_soon(_bound, stop, nursery.cancel_scope)
        await _run(home, stop, host, port, for_a_run)
        nursery.cancel_scope.cancel()


async def _run(
    home: "Home",
    stop: "trio.Event",
    host: str | None,
    port: int | None,
    for_a_run: bool,  # noqa: FBT001
) -> None:
    from functools import partial

    import trio

    from vancetope.brain import run_brain
    from vancetope.clock import SystemClock

    async with trio.open_nursery() as nursery:
        url = await nursery.start(
            partial(
                run_brain,
                home,
                clock=SystemClock(),
                stop=stop,
                host=host,
                port=port,
                for_a_run=for_a_run,
            )
        )
        click.echo(f"ready {url}")
        sys.stdout.flush()


async def _bound(stop: "trio.Event", scope: "trio.CancelScope") -> None:
    """Give up a stop that takes too long; the store survives that."""
    import trio

    await stop.wait()
    await trio.sleep(STOP_S)
    logging.getLogger(__name__).warning("serve.stop_forced after %s s", STOP_S)
    scope.cancel()
