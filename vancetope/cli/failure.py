"""From any error to one line on stderr and an exit code."""

from typing import TYPE_CHECKING, Final

import click

from vancetope.cli.options import program

if TYPE_CHECKING:
    from vance_sdk.errors import HandshakeRefused

ERROR: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130


_HANDSHAKE_FIXES: Final = {
    "unauthorized": (
        "Make a token where the Brain runs (`vancetope token create`), and give it"
        " with --token."
    ),
    "409": "Name the session's own profile with --profile.",
    "http_421": (
        "Add the host of its URL to `gateway.allowed_hosts` in the brain.yaml of the"
        " Brain, and start it again."
    ),
    "http_403": (
        "Add the origin to `gateway.allowed_origins` in the brain.yaml of the Brain,"
        " and start it again."
    ),
}
#: What the edge of a Brain says in the body of these answers.
_BRAINS_WORDS: Final = {
    "http_421": "(gateway.allowed_hosts)",
    "http_403": "(gateway.allowed_origins)",
}


class Failure(click.ClickException):
    """One line on stderr and exit code 1."""

    exit_code = ERROR

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


class WrongUse(Failure):
    """The command was told something that does not exist."""

    exit_code = USAGE


def leaf_of(exc: BaseException) -> BaseException:
    """The first error of a group, however deep; an interrupt before anything else."""
    while isinstance(exc, BaseExceptionGroup):
        interrupts = exc.subgroup(KeyboardInterrupt)
        exc = (interrupts or exc).exceptions[0]
    return exc


def edge_code(refused: "HandshakeRefused") -> str:
    """`http_421` or `http_403` of the edge of a Brain; empty for anything else.

    Another program may answer with the same numbers.
    """
    for code, words in _BRAINS_WORDS.items():
        if words in refused.message:
            return code
    return ""


def refusal_line(refused: "HandshakeRefused", url: str | None = None) -> str:
    """What to say of a connection that is not taken, and what would help.

    Args:
        refused: why.
        url: where the Brain was called, if that is known.
    """
    from vancetope.client.trouble import words_of

    code = edge_code(refused)
    if not code:
        return f"{words_of(refused)}. {_HANDSHAKE_FIXES.get(refused.code, '')}".rstrip()
    fix = _HANDSHAKE_FIXES[code]
    where = "the Brain"
    if url is not None:
        where = f"the Brain at {url}"
        fix = fix.replace("the host of its URL", repr(_host_of(url)))
    what = "host" if code == "http_421" else "origin"
    return f"{where} refused the connection: it is not called by this {what}. {fix}"


def _host_of(url: str) -> str:
    """As `gateway.allowed_hosts` wants it: with the port, which a mapping may change."""
    from vance_sdk.address import parse_address

    return parse_address(url).authority


def line_of(error: BaseException) -> str:
    """What to say of an error; one nobody foresaw gets its kind and where to look."""
    from vance_sdk.errors import (
        BrainRefused,
        ConnectionLost,
        HandshakeRefused,
        VanceError,
    )
    from vance_sdk.wire.errors import ProtocolError
    from vancetope.client.trouble import words_of
    from vancetope.errors import UserError

    match error:
        case BrainRefused():
            fix = error.context.get("fix")
            return f"{error.message}. {fix}" if fix else error.message
        case HandshakeRefused():
            return refusal_line(error)
        case ConnectionLost():
            return words_of(error)
        case UserError() | VanceError():
            return str(error)
        case ProtocolError():
            return f"this cannot be sent to a Brain: {error.message}"
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            return f"{where}{error.strerror or error}"
        case _:
            text = f"something broke in this program: {type(error).__name__}: {error}"
            return f"{text}. Run `{program()} --debug ...` again to see where."
