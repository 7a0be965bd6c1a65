"""The first frame and its answer (seed 003, section 2.2; PROTOCOL.md 2)."""

from typing import Final

import attrs
import trio

from vance_sdk.errors import ConnectionLost, HandshakeRefused
from vance_sdk.transport import Transport
from vance_sdk.wire.codec import decode_outbound, encode
from vance_sdk.wire.errors import (
    BAD_MESSAGE,
    FORBIDDEN,
    NOT_FOUND,
    PROFILE_MISMATCH,
    UNAUTHORIZED,
    ProtocolError,
)
from vance_sdk.wire.limits import FIRST_FRAME_BYTES, HANDSHAKE_SECONDS, CloseCode
from vance_sdk.wire.messages import Error, Handshake, SessionOpened

REFUSALS: Final = {
    CloseCode.BAD_FRAME: BAD_MESSAGE,
    CloseCode.UNAUTHORIZED: UNAUTHORIZED,
    CloseCode.FORBIDDEN: FORBIDDEN,
    CloseCode.SESSION_GONE: NOT_FOUND,
    CloseCode.PROFILE_MISMATCH: PROFILE_MISMATCH,
}
"""Close codes that say the same as an ``error``."""

_ANSWER_MARGIN_SECONDS: Final = 2.0


async def shake_hands(
    transport: Transport, handshake: Handshake
) -> tuple[SessionOpened, bool]:
    """Send the handshake and return the answer, and whether all tools were in it.

    Raises:
        HandshakeRefused: An ``error``, or a close code that says the same.
        ConnectionLost: The connection ended otherwise, or no answer came within
            the Brain's own bound and a little more.
    """
    text, complete = _first_frame(handshake)
    seconds = HANDSHAKE_SECONDS + _ANSWER_MARGIN_SECONDS
    try:
        with trio.move_on_after(seconds):
            await transport.send(text)
            return await _answer(transport), complete
    except ConnectionLost as lost:
        for close_code, code in REFUSALS.items():
            if lost.code == close_code:
                message = lost.reason or "the Brain closed the connection"
                raise HandshakeRefused(code, message, lost.code) from None
        raise
    reason = f"no answer to the handshake within {seconds:g} s"
    raise ConnectionLost(CloseCode.HANDSHAKE_TIMEOUT, reason)


async def _answer(transport: Transport) -> SessionOpened:
    while True:
        try:
            frame = decode_outbound(await transport.receive())
        except ProtocolError as error:
            if error.code == BAD_MESSAGE:
                message = f"not a Brain's answer: {error.message}"
                raise HandshakeRefused(BAD_MESSAGE, message) from None
            continue
        if isinstance(frame, SessionOpened):
            return frame
        if isinstance(frame, Error):
            raise HandshakeRefused(frame.code, frame.message)


def _first_frame(handshake: Handshake) -> tuple[str, bool]:
    """Write the handshake, without what would make it too long."""
    client = handshake.client
    brief = tuple(
        attrs.evolve(tool, description=None, input_schema=None) for tool in client.tools
    )
    for tools in (client.tools, brief, ()):
        shorter = attrs.evolve(client, tools=tools)
        text = encode(attrs.evolve(handshake, client=shorter))
        if len(text.encode()) <= FIRST_FRAME_BYTES:
            return text, tools == client.tools
    message = f"the handshake is over the limit of {FIRST_FRAME_BYTES} bytes"
    raise HandshakeRefused(BAD_MESSAGE, message)
