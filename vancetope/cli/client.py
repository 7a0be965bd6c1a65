"""`vancetope client`: the local client, in the foreground."""

import os
import re
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from vancetope.cli.failure import Failure, leaf_of, line_of, refusal_line
from vancetope.cli.options import chosen_home, common, example, program

if TYPE_CHECKING:
    from vancetope.client.session import LocalClient
    from vancetope.config.home import Home

#: The environment's way to give a token without showing it in the list of processes.
TOKEN_VARIABLE: Final = "VANCETOPE_TOKEN"  # noqa: S105 - its name only
PROFILE: Final = "foot"
NAME_CHARS: Final = 64


def default_name() -> str:
    """The machine's name in the shape of a client's name."""
    name = re.sub(r"[^a-zA-Z0-9_-]+", "-", socket.gethostname()).strip("-")
    return name[:NAME_CHARS] or "client"


@click.command(
    epilog=example(
        "vancetope client --root ~/Documents",
        "vancetope client --url http://nas:7717 --token T --root ~/Documents",
    )
)
@click.option(
    "--url",
    metavar="URL",
    help="The Brain's, http://H:N or ws://H:N/api/ws; else that of the home.",
)
@click.option(
    "--token",
    metavar="T",
    envvar=TOKEN_VARIABLE,
    show_envvar=True,
    help="A token of the Brain's; else one made with the home's key.",
)
@click.option("--name", metavar="N", help="What this client is called. [this machine]")
@click.option(
    "--profile", default=PROFILE, show_default=True, metavar="P", help="Its profile."
)
@click.option(
    "--root",
    "roots",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="A folder to open to the Brain; may be given several times. [this folder,"
    " when started in a terminal]",
)
@click.option("--allow-shell", is_flag=True, help="For a later version; see below.")
@common
def client(
    url: str | None,
    token: str | None,
    name: str | None,
    profile: str,
    roots: tuple[Path, ...],
    allow_shell: bool,  # noqa: FBT001
) -> None:
    """Lend the files of this machine to a Brain, for as long as this runs.

    The Brain can list, read, search and write files in the folders named by --root,
    and nowhere else. Prints `connected SESSION_ID` for each connection; waits for
    the Brain to appear and comes back whenever it does.

    This version has no shell tool: --allow-shell is accepted and changes nothing.
    """
    opened = _roots(roots)
    if allow_shell:
        click.echo(
            "Note: this version has no shell tool; --allow-shell changes nothing.",
            err=True,
        )
    import trio

    from vance_sdk.errors import HandshakeRefused
    from vance_sdk.wire.params import is_client_name, is_profile
    from vancetope.client.native import RootError, Roots
    from vancetope.client.session import LocalClient

    name = default_name() if name is None else name
    if not is_client_name(name):
        message = f"{name!r} is not 1 to 64 letters, digits, _ or -"
        raise click.BadParameter(message, param_hint="--name")
    if not is_profile(profile):
        message = f"{profile!r} is not a small letter and up to 31 more, digits, _ or -"
        raise click.BadParameter(message, param_hint="--profile")
    try:
        allowed = Roots(opened)
    except RootError as exc:
        raise click.BadParameter(str(exc), param_hint="--root") from None
    home = chosen_home()
    local = LocalClient(
        locate=_locate(home, url),
        token=_token(home, token),
        roots=allowed,
        name=name,
        profile=profile,
        on_connected=lambda opened: _say(f"connected {opened.session_id}"),
        on_trouble=lambda text: click.echo(text, err=True),
    )
    try:
        trio.run(_serve, local)
    except* HandshakeRefused as group:
        refused = leaf_of(group)
        raise Failure(_refusal(refused, home, url, token)) from None


def _refusal(
    refused: BaseException, home: "Home", url: str | None, token: str | None
) -> str:
    from vance_sdk.errors import HandshakeRefused
    from vance_sdk.wire.errors import UNAUTHORIZED

    if not isinstance(refused, HandshakeRefused):
        return line_of(refused)
    if refused.code == UNAUTHORIZED and url is not None and token is None:
        return (
            f"the Brain at {url} refused the connection: it does not know the token,"
            f" which was made with the key of this machine's home {home.path}. Make"
            f" one on the Brain's machine with `{program()} token create`, and give it"
            " here with --token."
        )
    return refusal_line(refused, url or _locate(home, None)())


def _say(text: str) -> None:
    click.echo(text)
    sys.stdout.flush()


def _roots(given: tuple[Path, ...]) -> list[Path]:
    if given:
        return list(given)
    if sys.stdin.isatty():
        return [Path.cwd()]
    message = (
        "Missing option '--root': nobody is at a terminal, so name each folder to open"
        f" to the Brain, for example: {program()} client --root ~/Documents"
    )
    raise click.UsageError(message, click.get_current_context())


def _locate(home: "Home", url: str | None) -> Callable[[], str | None]:
    from vance_sdk.address import parse_address
    from vance_sdk.errors import BadAddress
    from vancetope.cli.launch import running_brain

    if url is not None:
        try:
            parse_address(url)
        except BadAddress as exc:
            raise click.BadParameter(str(exc), param_hint="--url") from None
        return lambda: url

    def local() -> str | None:
        found = running_brain(home)
        return None if found is None else found.url

    return local


def _token(home: "Home", token: str | None) -> Callable[[], str]:
    if token is not None:
        return token.strip
    from vancetope.clock import SystemClock
    from vancetope.crypto import SigningKey

    return lambda: SigningKey.of_home(home.secrets).mint(
        SystemClock(), name=f"client {os.getpid()}"
    )


async def _serve(local: "LocalClient") -> None:
    import trio

    from vancetope.cli.signals import stop_on_signal

    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(stop_on_signal, stop)
        await local.run(stop)
        nursery.cancel_scope.cancel()
