"""The one place where exceptions become wire errors."""

import logging
from typing import Final

from vance_sdk.wire.errors import BAD_MESSAGE, INTERNAL, UNAVAILABLE, ProtocolError
from vance_sdk.wire.messages.sessions import Error
from vancetope.errors import BrainError, UserError

logger = logging.getLogger(__name__)

INTERNAL_TEXT: Final = "Something broke in the Brain; its log says what"


def to_wire(exc: Exception, reply_to: str | None) -> Error:
    """The `error` frame for whatever a frame caused; no exception text leaks."""
    match exc:
        case BrainError():
            return Error(
                code=exc.code,
                message=exc.message,
                context=exc.context,
                reply_to=reply_to,
            )
        case ProtocolError():
            return Error(
                code=exc.code, message=exc.message, reply_to=exc.reply_to or reply_to
            )
        case UserError():
            return Error(
                code=UNAVAILABLE,
                message=exc.message,
                context={"fix": exc.fix},
                reply_to=reply_to,
            )
        case _:
            logger.error("frame.broke", exc_info=exc)
            return Error(code=INTERNAL, message=INTERNAL_TEXT, reply_to=reply_to)


def bad(message: str, reply_to: str | None = None) -> Error:
    """A `bad_message` error."""
    return Error(code=BAD_MESSAGE, message=message, reply_to=reply_to)
