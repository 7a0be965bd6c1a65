"""A WebSocket without a network, verified against the real one.

`FakeWebSocket` has the interface of `vancetope.gateway.websocket.WebSocket`; its other
end is a `ClientEnd`.  tests/gateway/test_session_socket.py runs one contract over this
pair and over a real loopback listener.
"""

from collections import deque
from typing import Protocol

import attrs
import trio

from vancetope.gateway.websocket import (
    ABNORMAL,
    NORMAL,
    TOO_BIG,
    TOO_SLOW_OR_TOO_MANY,
    UNSUPPORTED_DATA,
    ConnectionLost,
)

#: Frames on their way to a client that does not read, as in a socket's buffers.
IN_FLIGHT = 16


class Closed(Exception):
    """What a client sees of the end."""

    def __init__(self, code: int, reason: str = "") -> None:
        super().__init__(f"{code} {reason}".rstrip())
        self.code = code
        self.reason = reason


class ClientEnd(Protocol):
    """A client's end of a connection."""

    async def send(self, frame: str | bytes) -> None: ...

    async def receive(self) -> str: ...

    async def close(self) -> None: ...

    def vanish(self) -> None: ...

    def freeze(self) -> None: ...


@attrs.define(eq=False, kw_only=True)
class FakeWebSocket:
    """The Brain's end."""

    peer: str = "fake:1"
    first_frame_limit: int = 65_536
    frame_limit: int = 1 << 20
    send_timeout_s: float = 20.0
    ping_timeout_s: float = 15.0
    client: "FakeClientEnd" = attrs.field(init=False)
    is_authenticated: bool = False
    _end: ConnectionLost | None = None
    _limit: int = attrs.field(init=False)
    _inbound: deque[str | bytes] = attrs.field(factory=deque)
    _moved: trio.Event = attrs.field(factory=trio.Event)

    def __attrs_post_init__(self) -> None:
        self._limit = self.first_frame_limit
        self.client = FakeClientEnd(self)

    @property
    def ended(self) -> ConnectionLost | None:
        return self._end

    def authenticated(self) -> None:
        self.is_authenticated = True

    async def receive(self) -> str:
        await trio.lowlevel.checkpoint()
        while not self._inbound:
            self._raise_if_ended()
            await self._moved.wait()
        frame = self._inbound.popleft()
        if isinstance(frame, bytes):
            await self.close(UNSUPPORTED_DATA, "binary frames are not used")
            raise self._lost()
        if len(frame.encode()) > self._limit:
            await self.close(TOO_BIG, f"a frame over {self._limit} bytes")
            raise self._lost()
        self._limit = self.frame_limit
        return frame

    async def send(self, text: str) -> None:
        await trio.lowlevel.checkpoint()
        self._raise_if_ended()
        with trio.move_on_after(self.send_timeout_s):
            while len(self.client.inbound) >= IN_FLIGHT:
                await self._moved.wait()
                self._raise_if_ended()
            self.client.inbound.append(text)
            self.moved()
            return
        self.abort(TOO_SLOW_OR_TOO_MANY, "the peer reads too slowly")
        raise self._lost()

    async def ping(self) -> None:
        await trio.lowlevel.checkpoint()
        self._raise_if_ended()
        with trio.move_on_after(self.ping_timeout_s):
            while self.client.frozen:
                await self._moved.wait()
                self._raise_if_ended()
            return
        self.abort(ABNORMAL, "no answer to a ping")
        raise self._lost()

    async def close(self, code: int = NORMAL, reason: str = "") -> None:
        self.end(code, reason)
        await trio.lowlevel.checkpoint()

    async def evict(self, code: int, reason: str) -> None:
        await self.close(code, reason)

    def abort(self, code: int = ABNORMAL, reason: str = "") -> None:
        self.client.cut = True
        self.end(code, reason)

    # What the other end does to this one.

    def end(self, code: int, reason: str) -> None:
        if self._end is None:
            self._end = ConnectionLost(code, reason)
        self.moved()

    def moved(self) -> None:
        """Wake whoever waits on either end."""
        self._moved.set()
        self._moved = trio.Event()

    async def wait_moved(self) -> None:
        await self._moved.wait()

    def put(self, frame: str | bytes) -> None:
        self._inbound.append(frame)
        self.moved()

    def _lost(self) -> ConnectionLost:
        end = self._end or ConnectionLost(ABNORMAL)
        return ConnectionLost(end.code, end.reason)

    def _raise_if_ended(self) -> None:
        if self._end is not None:
            raise self._lost()


@attrs.define(eq=False)
class FakeClientEnd:
    """The client's end of a `FakeWebSocket`."""

    server: FakeWebSocket
    inbound: deque[str] = attrs.field(factory=deque)
    frozen: bool = False
    cut: bool = False

    async def send(self, frame: str | bytes) -> None:
        await trio.lowlevel.checkpoint()
        if self.server.ended is not None:
            raise self._closed()
        self.server.put(frame)

    async def receive(self) -> str:
        await trio.lowlevel.checkpoint()
        if self.frozen:
            await trio.sleep_forever()
        while not self.inbound:
            if self.server.ended is not None:
                raise self._closed()
            await self.server.wait_moved()
        frame = self.inbound.popleft()
        self.server.moved()
        return frame

    async def close(self) -> None:
        self.server.end(NORMAL, "")
        await trio.lowlevel.checkpoint()

    def vanish(self) -> None:
        """The network is gone: no goodbye."""
        self.cut = True
        self.server.end(ABNORMAL, "")

    def freeze(self) -> None:
        """Read nothing any more, not even pings."""
        self.frozen = True

    def _closed(self) -> Closed:
        end = self.server.ended
        if end is None or self.cut:
            return Closed(ABNORMAL)
        return Closed(end.code, end.reason)
