"""What can be wrong with a frame, and the codes an ``error`` frame carries."""

from typing import Final

UNAUTHORIZED: Final = "unauthorized"
FORBIDDEN: Final = "forbidden"
NOT_FOUND: Final = "not_found"
BAD_MESSAGE: Final = "bad_message"
UNKNOWN_TYPE: Final = "unknown_type"
CONFLICT: Final = "conflict"
PROFILE_MISMATCH: Final = "409"
RATE_LIMITED: Final = "rate_limited"
UNAVAILABLE: Final = "unavailable"
INTERNAL: Final = "internal"

CODES: Final = (
    UNAUTHORIZED,
    FORBIDDEN,
    NOT_FOUND,
    BAD_MESSAGE,
    UNKNOWN_TYPE,
    CONFLICT,
    PROFILE_MISMATCH,
    RATE_LIMITED,
    UNAVAILABLE,
    INTERNAL,
)
"""Every value of ``error.code`` (PROTOCOL.md section 2)."""

FAILED: Final = "failed"
EXPIRED: Final = "expired"
REJECTED: Final = "rejected"
CANCELLED: Final = "cancelled"
OUTCOME_UNKNOWN: Final = "outcome_unknown"
APPROVAL_REQUIRED: Final = "approval_required"

TOOL_ERROR_CODES: Final = (
    FAILED,
    EXPIRED,
    REJECTED,
    CANCELLED,
    OUTCOME_UNKNOWN,
    APPROVAL_REQUIRED,
)
"""Every value of ``tool-result.error.code`` (PROTOCOL.md section 2)."""


class ProtocolError(Exception):
    """A frame or a URL that breaks the protocol.

    The message never repeats a value of the frame, for frames carry secrets.

    Attributes:
        code: ``bad_message`` or ``unknown_type``.
        message: One readable line that names the path.
        path: JSON path of the culprit, such as ``$.client.capabilities.chat``.
        reply_to: The frame's ``id``, if one could be read.
    """

    def __init__(
        self, code: str, message: str, path: str = "$", reply_to: str | None = None
    ) -> None:
        super().__init__(code, message, path, reply_to)
        self.code = code
        self.message = message
        self.path = path
        self.reply_to = reply_to

    def __str__(self) -> str:
        return self.message


class FrameTooBig(ProtocolError):
    """A frame over the limit, told apart because it closes the connection."""
