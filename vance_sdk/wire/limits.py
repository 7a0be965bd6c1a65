"""Numbers both sides keep to (PROTOCOL.md sections 1 and 3).

The Brain's configuration may change its own; these are the defaults.
"""

from enum import IntEnum
from typing import Final

PROTO: Final = "vtp/1"
"""The value of ``handshake.proto`` that opts into delivery guarantees."""

FIRST_FRAME_BYTES: Final = 64 * 1024
FRAME_BYTES: Final = 1024 * 1024
JSON_DEPTH: Final = 64
INLINE_RESULT_BYTES: Final = 256 * 1024
"""A larger tool result goes by blob, or is cut (D11)."""

WINDOW: Final = 16
"""Tool calls in flight per client."""
UNAUTHENTICATED_SOCKETS: Final = 64

HANDSHAKE_SECONDS: Final = 10.0
PING_SECONDS: Final = 10.0
DEAD_SECONDS: Final = 25.0
RESUME_WINDOW_SECONDS: Final = 900.0


class CloseCode(IntEnum):
    """Why a connection was closed (PROTOCOL.md section 1)."""

    NORMAL = 1000
    GOING_AWAY = 1001
    BINARY_FRAME = 1003
    FRAME_TOO_BIG = 1009
    INTERNAL = 1011
    RESTART = 1012
    BAD_FRAME = 4400
    UNAUTHORIZED = 4401
    FORBIDDEN = 4403
    HANDSHAKE_TIMEOUT = 4408
    REPLACED = 4409
    SESSION_GONE = 4410
    PROFILE_MISMATCH = 4411
    TOO_BIG = 4413
    TOO_SLOW = 4429
