"""One WebSocket as the session code sees it: text in, text out, one way to end.

A thin wrapper over trio-websocket that adds what the library leaves to its user: a
deadline on every send, ping and close, the limit of the first frame, no binary
frames, and one exception for every end.
"""

from collections.abc import Callable
from typing import Final

import attrs
import trio
from trio_websocket import ConnectionClosed, WebSocketConnection
from wsproto.utilities import LocalProtocolError

from vancetope.gateway.edge import EdgeConfig

NORMAL: Final = 1000
GOING_AWAY: Final = 1001
UNSUPPORTED_DATA: Final = 1003
ABNORMAL: Final = 1006
TOO_BIG: Final = 1009
INTERNAL_ERROR: Final = 1011
TOO_SLOW_OR_TOO_MANY: Final = 4429

#: RFC 6455 section 5.5: a control frame holds 125 bytes, two of them the code.
_REASON_BYTES: Final = 123
#: Bytes of the longest character.
_UTF8_MAX: Final = 4


class ConnectionLost(Exception):
    """The socket is at its end, whoever ended it.

    Attributes:
        code: the close code: the peer's, ours, or 1006 when there was none.
        reason: the text that came or went with it, or what happened here.
    """

    def __init__(self, code: int, reason: str = "") -> None:
        super().__init__(f"{code} {reason}".rstrip())
        self.code = code
        self.reason = reason


@attrs.define(eq=False, kw_only=True)
class WebSocket:
    """An accepted WebSocket.

    One task may receive; any number may send, ping and close.

    Attributes:
        peer: `address:port` of the other side, for logs.
    """

    peer: str
    _connection: WebSocketConnection
    _socket: trio.socket.SocketType
    _config: EdgeConfig
    _on_authenticated: Callable[[], None]
    _limit: int = attrs.field(init=False)
    _end: ConnectionLost | None = attrs.field(init=False, default=None)
    #: Frames on their way, and when the last of them went or the first came.
    _pending: int = attrs.field(init=False, default=0)
    _moved_at: float = attrs.field(init=False, default=0.0)
    _sends: trio.Event = attrs.field(init=False, factory=trio.Event)

    def __attrs_post_init__(self) -> None:
        self._limit = self._config.first_frame_limit

    @property
    def ended(self) -> ConnectionLost | None:
        """How the socket ended; None while it is open."""
        return self._end

    def authenticated(self) -> None:
        """Leave the sockets that a newcomer may push out."""
        self._on_authenticated()

    async def receive(self) -> str:
        """The next text frame.

        A binary frame closes 1003, one over the limit 1009: 64 KiB for the first,
        1 MiB for the others (by default), in bytes of UTF-8.

        Raises:
            ConnectionLost: there will be no further frame.
        """
        try:
            message = await self._connection.get_message()
        except ConnectionClosed as closed:
            raise self._lost(closed) from None
        if isinstance(message, bytes):
            await self.close(UNSUPPORTED_DATA, "binary frames are not used")
            raise self._ended(UNSUPPORTED_DATA, "binary frames are not used")
        if len(message) * _UTF8_MAX > self._limit and _is_over(message, self._limit):
            reason = f"a frame over {self._limit} bytes"
            await self.close(TOO_BIG, reason)
            raise self._ended(TOO_BIG, reason)
        self._limit = self._config.frame_limit
        return message

    async def send(self, text: str) -> None:
        """Send one text frame.

        A peer that lets no frame through for the send deadline is closed by force.
        So is one whose frame is cut short by a cancelled caller: it has half of it
        and would read the next one as its rest.

        Raises:
            ConnectionLost: the socket is closed, or the peer reads too slowly (4429).
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        if not self._pending:
            self._moved_at = trio.current_time()
        self._pending += 1
        self._sends.set()
        try:
            await self._connection.send_message(text)
        except ConnectionClosed as closed:
            raise self._lost(closed) from None
        except LocalProtocolError:
            raise self._ended(ABNORMAL, "the socket is closing") from None
        except trio.Cancelled:
            self.abort(TOO_SLOW_OR_TOO_MANY, "a send was cut short")
            raise
        finally:
            self._pending -= 1
            if self._pending:
                self._moved_at = trio.current_time()

    async def watch_sends(self) -> None:
        """Hold the peer to the send deadline; run this beside the handler.

        One timer for a socket, armed by its first send and again only after it has
        run out: a cancel scope for each send costs a sixth of the throughput.
        """
        while self._end is None:
            await self._sends.wait()
            await trio.sleep_until(self._moved_at + self._config.send_timeout_s)
            if not self._pending:
                self._sends = trio.Event()
            elif trio.current_time() >= self._moved_at + self._config.send_timeout_s:
                self.abort(TOO_SLOW_OR_TOO_MANY, "the peer reads too slowly")

    async def ping(self) -> None:
        """Ask for a sign of life and wait for it; without one, close by force.

        Raises:
            ConnectionLost: the socket is closed, or no pong came in time (1006).
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        with trio.move_on_after(self._config.ping_timeout_s):
            try:
                await self._connection.ping()
            except ConnectionClosed as closed:
                raise self._lost(closed) from None
            except LocalProtocolError:
                raise self._ended(ABNORMAL, "the socket is closing") from None
            return
        self.abort(ABNORMAL, "no answer to a ping")
        raise self._ended(ABNORMAL, "no answer to a ping")

    async def close(self, code: int = NORMAL, reason: str = "") -> None:
        """Say goodbye and wait a little for the answer; then the socket is closed.

        Does nothing to a socket that has ended.  Never raises `ConnectionLost`.
        """
        await self._close(code, reason, self._config.close_timeout_s)

    async def evict(self, code: int, reason: str) -> None:
        """Close at once: the close frame is tried, its answer hardly waited for."""
        await self._close(code, reason, self._config.evict_timeout_s)

    def abort(self, code: int = ABNORMAL, reason: str = "") -> None:
        """Close the TCP connection now; a pending receive or send ends with it."""
        self._ended(code, reason)
        self._socket.close()

    async def _close(self, code: int, reason: str, seconds: float) -> None:
        self._ended(code, reason)
        with trio.move_on_after(seconds) as scope:
            await self._connection.aclose(code, _shortened(reason) or None)
        if scope.cancelled_caught:
            self._socket.close()

    def _ended(self, code: int, reason: str) -> ConnectionLost:
        """The first end is the one that counts; each raise gets its own exception."""
        if self._end is None:
            self._end = ConnectionLost(code, reason)
        return ConnectionLost(self._end.code, self._end.reason)

    def _lost(self, closed: ConnectionClosed) -> ConnectionLost:
        if closed.reason is None:
            return self._ended(ABNORMAL, "")
        return self._ended(closed.reason.code, closed.reason.reason or "")


def _is_over(text: str, limit: int) -> bool:
    if text.isascii():
        return len(text) > limit
    return len(text) > limit or len(text.encode()) > limit


def _shortened(reason: str) -> str:
    return reason.encode()[:_REASON_BYTES].decode(errors="ignore")
