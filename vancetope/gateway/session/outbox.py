"""What waits to be sent to one client: bounded, in order."""

from collections import deque
from typing import Final

import attrs
import trio

from vance_sdk.wire.messages.tables import Outbound

#: Past this the client is too slow and is cut off (4429).
OVERFLOW: Final = 4096
#: From here on nobody adds what can wait: the reader and the projection pause.
BUSY: Final = 64


@attrs.define(eq=False)
class Outbox:
    """A queue with one consumer, the session's writer."""

    overflowed: trio.Event = attrs.field(factory=trio.Event, init=False)
    _frames: deque[Outbound] = attrs.field(factory=deque, init=False)
    _filled: trio.Event = attrs.field(factory=trio.Event, init=False)
    _room: trio.Event = attrs.field(factory=trio.Event, init=False)

    def put(self, frame: Outbound) -> None:
        """Add a frame that must be sent; never blocks."""
        if len(self._frames) >= OVERFLOW:
            self.overflowed.set()
            return
        self._frames.append(frame)
        self._filled.set()

    async def room(self) -> None:
        """Wait until the client has read most of what it was sent."""
        while len(self._frames) >= BUSY:
            self._room = trio.Event()
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
