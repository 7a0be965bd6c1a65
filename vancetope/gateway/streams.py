"""A TCP stream whose first bytes were already read, and how to part from one."""

from collections.abc import Coroutine
from typing import Any

import attrs
import trio


@attrs.define(eq=False)
class ReplayStream(trio.abc.HalfCloseableStream):
    """Gives the request head again, then what followed it, then the socket's bytes.

    What followed the head is held back until `release()`: the WebSocket library
    drops bytes that it reads before it has accepted.
    """

    _stream: trio.SocketStream
    _head: bytes
    _rest: bytes
    _released: trio.Event = attrs.field(init=False, factory=trio.Event)
    _replayed: bool = attrs.field(init=False, default=False)

    @property
    def socket(self) -> trio.socket.SocketType:
        """The socket below (hypercorn asks it for both addresses)."""
        return self._stream.socket

    def release(self) -> None:
        """Let what followed the head through."""
        self._released.set()

    # Once the replay is over the socket's own coroutines are handed out: this lies
    # in the path of every frame.
    def receive_some(
        self, max_bytes: int | None = None
    ) -> Coroutine[Any, Any, bytes | bytearray]:
        """See `trio.abc.ReceiveStream`; the head comes whole, whatever its size."""
        if self._replayed:
            return self._stream.receive_some(max_bytes)
        return self._replay(max_bytes)

    def send_all(
        self, data: bytes | bytearray | memoryview
    ) -> Coroutine[Any, Any, None]:
        """See `trio.abc.SendStream`."""
        return self._stream.send_all(data)

    async def _replay(self, max_bytes: int | None) -> bytes | bytearray:
        if self._head:
            await trio.lowlevel.checkpoint()
            head, self._head = self._head, b""
            return head
        await self._released.wait()
        self._replayed = True
        return self._rest or await self._stream.receive_some(max_bytes)

    async def wait_send_all_might_not_block(self) -> None:
        """See `trio.abc.SendStream`."""
        await self._stream.wait_send_all_might_not_block()

    async def send_eof(self) -> None:
        """See `trio.abc.HalfCloseableStream`."""
        await self._stream.send_eof()

    async def aclose(self) -> None:
        """Close the socket."""
        await self._stream.aclose()


async def linger(stream: trio.SocketStream, *, seconds: float) -> None:
    """End our side, then swallow what the peer still sends, for `seconds` at most.

    A socket closed with unread bytes sends a reset, and a reset can overtake the
    answer the peer has not yet read.
    """
    with trio.move_on_after(seconds):
        try:
            await stream.send_eof()
            while await stream.receive_some(65536):
                pass
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
