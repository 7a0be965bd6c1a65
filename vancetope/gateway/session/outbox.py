"""What waits to be sent to one client: bounded, in order."""

from collections import deque
from typing import Final

import attrs
import trio

from vance_sdk.wire.messages.handshake import GoAway, ResumeDone
from vance_sdk.wire.messages.tables import Outbound
from vance_sdk.wire.messages.tools import ToolCancel, ToolResultAck

#: Past this the client is too slow and is cut off (4429).
OVERFLOW: Final = 4096
#: From here on nobody adds what can wait: the reader and the projection pause.
BUSY: Final = 64
#: What the seed does not have and no client gets unasked.
VTP_ONLY: Final = (ToolCancel, ToolResultAck, ResumeDone, GoAway)


@attrs.define(eq=False)
class Outbox:
    """A queue with one consumer, the session's writer.

    Attributes:
        vtp: the client opted into PROTOCOL section 3; others do not get its frames.
    """

    vtp: bool
    overflowed: trio.Event = attrs.field(factory=trio.Event, init=False)
    _frames: deque[Outbound] = attrs.field(factory=deque, init=False)
    _filled: trio.Event = attrs.field(factory=trio.Event, init=False)
    _room: trio.Event = attrs.field(factory=trio.Event, init=False)

    def put(self, frame: Outbound) -> None:
        """Add a frame that must be sent; never blocks."""
        if not self.vtp and isinstance(frame, VTP_ONLY):
            return
        if len(self._frames) >= OVERFLOW:
            self.overflowed.set()
            return
        self._frames.append(frame)
        self._filled.set()
        if len(self._frames) >= BUSY and self._room.is_set():
            self._room = trio.Event()

    async def room(self) -> None:
        """Wait until the client has read most of what it was sent."""
        # One event for all who wait: the reader and the projection both do.
        while len(self._frames) >= BUSY:
            await self._room.wait()

    async def get(self) -> Outbound:
        """Wait for the next frame."""
        while not self._frames:
            self._filled = trio.Event()
            await self._filled.wait()
        frame = self._frames.popleft()
        if len(self._frames) < BUSY:
            self._room.set()
        return frame
