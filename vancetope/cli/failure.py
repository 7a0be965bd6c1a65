"""From any error to one line on stderr and an exit code."""

from typing import Final

import click

from vancetope.cli.options import program

ERROR: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130


_HANDSHAKE_FIXES: Final = {
    "unauthorized": (
        "Make a token where the Brain runs (`vancetope token create`), and give it"
        " with --token."
    ),
    "409": "Name the session's own profile with --profile.",
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


def line_of(error: BaseException) -> str:
    """What to say of an error; one nobody foresaw gets its kind and where to look."""
    from vance_sdk.errors import BrainRefused, HandshakeRefused, VanceError
    from vance_sdk.wire.errors import ProtocolError
    from vancetope.errors import UserError

    match error:
        case BrainRefused():
            fix = error.context.get("fix")
            return f"{error.message}. {fix}" if fix else error.message
        case HandshakeRefused():
            text = f"the Brain refused the connection: {error.message}"
            return f"{text}. {_HANDSHAKE_FIXES.get(error.code, '')}".rstrip()
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
