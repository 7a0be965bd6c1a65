"""A WebSocket as the connection sees it: text in, text out, one way to end.

The protocol is the seam for tests; ``open_websocket`` is the real one, over
trio-websocket, with bounds on what that library leaves unbounded.
"""

import re
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final, Protocol, TypeAlias

import attrs
import trio
from trio_websocket import (
    ConnectionClosed,
    ConnectionRejected,
    WebSocketConnection,
    wrap_client_stream,
)
from wsproto.utilities import ProtocolError as WebSocketProtocolError

from vance_sdk.address import Address
from vance_sdk.errors import ConnectionLost, HandshakeRefused
from vance_sdk.scopes import background_nursery
from vance_sdk.wire.errors import FORBIDDEN, UNAUTHORIZED
from vance_sdk.wire.limits import FRAME_BYTES, CloseCode

CONNECT_SECONDS: Final = 10.0
"""For name, TCP, TLS and upgrade together."""
SEND_SECONDS: Final = 10.0
"""For one frame to leave."""
CLOSE_SECONDS: Final = 2.0
"""For the closing handshake; then the socket is closed by force."""
ABNORMAL: Final = 1006

_REASON_BYTES: Final = 123
_RECEIVE_BYTES: Final = 64 * 1024
_BODY_BYTES: Final = 200
_STATUS_BYTES: Final = 12
_STATUS: Final = re.compile(rb"HTTP/1\.[01] ([0-9]{3})")
_HTTP_CODES: Final = {401: UNAUTHORIZED, 403: FORBIDDEN}


class Transport(Protocol):
    """An open WebSocket. One task receives, one sends, one pings."""

    @property
    def heard_at(self) -> float:
        """Trio's time of the last byte from the other side."""

    async def receive(self) -> str:
        """Return the next text frame, or raise ``ConnectionLost``."""

    async def send(self, text: str) -> None:
        """Send one text frame, or raise ``ConnectionLost``."""

    async def ping(self) -> None:
        """Ask for a sign of life and wait for it, or raise ``ConnectionLost``."""

    async def abort(self) -> None:
        """Close without a goodbye, which nobody would hear; never raises."""

    async def aclose(self, code: int = CloseCode.NORMAL, reason: str = "") -> None:
        """Say goodbye within a bound; never raises."""


Connector: TypeAlias = Callable[[Address], AbstractAsyncContextManager[Transport]]


class _WatchedStream(trio.abc.Stream):
    """Notes when bytes come, pings included, and when no more can."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream
        self.heard_at = trio.current_time()
        self.ended = trio.Event()
        self.first_bytes = b""

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        try:
            data = await self._stream.receive_some(max_bytes)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self.ended.set()
            raise
        self.heard_at = trio.current_time()
        if len(self.first_bytes) < _STATUS_BYTES:
            self.first_bytes += data[:_STATUS_BYTES]
        if not data:
            self.ended.set()
        return bytes(data)

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self._stream.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self._stream.wait_send_all_might_not_block()

    async def aclose(self) -> None:
        await self._stream.aclose()


@attrs.define(eq=False)
class WebSocketTransport:
    """The real ``Transport``."""

    _socket: WebSocketConnection
    _stream: _WatchedStream

    @property
    def heard_at(self) -> float:
        """Trio's time of the last byte from the other side."""
        return self._stream.heard_at

    async def receive(self) -> str:
        """Return the next text frame.

        Raises:
            ConnectionLost: There will be no further one.
        """
        try:
            message = await self._socket.get_message()
        except ConnectionClosed as closed:
            raise _lost(closed) from None
        if isinstance(message, bytes):
            reason = "binary frames are not used"
            await self.aclose(CloseCode.BINARY_FRAME, reason)
            raise ConnectionLost(CloseCode.BINARY_FRAME, reason)
        return message

    async def send(self, text: str) -> None:
        """Send one text frame within ``SEND_SECONDS``.

        A send that is cut short leaves half a frame behind, so it ends the socket.

        Raises:
            ConnectionLost: It has ended, or the other side does not read.
        """
        with trio.move_on_after(SEND_SECONDS):
            try:
                await self._socket.send_message(text)
            except ConnectionClosed as closed:
                raise _lost(closed) from None
            except WebSocketProtocolError:
                raise ConnectionLost(ABNORMAL, "the socket is closing") from None
            except trio.Cancelled:
                await trio.aclose_forcefully(self._stream)
                raise
            return
        raise ConnectionLost(ABNORMAL, f"nothing could be sent for {SEND_SECONDS:g} s")

    async def ping(self) -> None:
        """Ask for a sign of life and wait for it; the caller sets the bound.

        Raises:
            ConnectionLost: The socket has ended.
        """
        try:
            await self._socket.ping()
        except ConnectionClosed as closed:
            raise _lost(closed) from None
        except WebSocketProtocolError:
            raise ConnectionLost(ABNORMAL, "the socket is closing") from None

    async def abort(self) -> None:
        """Close without a goodbye, which nobody would hear."""
        await trio.aclose_forcefully(self._stream)

    async def aclose(self, code: int = CloseCode.NORMAL, reason: str = "") -> None:
        """Say goodbye, wait ``CLOSE_SECONDS`` for the answer, then close by force."""
        text = reason.encode()[:_REASON_BYTES].decode(errors="ignore")
        with trio.move_on_after(CLOSE_SECONDS, shield=True):
            try:
                await self._socket.aclose(code, text or None)
            except WebSocketProtocolError:
                return


def connector(ssl_context: ssl.SSLContext | None = None) -> Connector:
    """Return a connector that trusts what ``ssl_context`` trusts."""

    def connect(address: Address) -> AbstractAsyncContextManager[Transport]:
        return open_websocket(address, ssl_context=ssl_context)

    return connect


@asynccontextmanager
async def open_websocket(
    address: Address, *, ssl_context: ssl.SSLContext | None = None
) -> AsyncIterator[Transport]:
    """Connect within ``CONNECT_SECONDS``; leave within ``CLOSE_SECONDS``.

    Raises:
        ConnectionLost: Nobody listens, the name is unknown, TLS failed, or it took
            too long.
        HandshakeRefused: An HTTP answer instead of a WebSocket.
    """
    async with background_nursery() as nursery:
        with trio.move_on_after(CONNECT_SECONDS) as bound:
            stream = _WatchedStream(await _dial(address, ssl_context))
            try:
                socket: WebSocketConnection = await nursery.start(
                    _run_socket, stream, address
                )
            except BaseException:
                await trio.aclose_forcefully(stream)
                raise
        if bound.cancelled_caught:
            reason = f"no connection within {CONNECT_SECONDS:g} s"
            raise ConnectionLost(ABNORMAL, reason)
        transport = WebSocketTransport(socket, stream)
        try:
            yield transport
        finally:
            await transport.aclose()
            # trio-websocket's reader may wait for a TCP end that never comes.
            await trio.aclose_forcefully(stream)


async def _dial(address: Address, context: ssl.SSLContext | None) -> trio.abc.Stream:
    try:
        stream = await trio.open_tcp_stream(address.host, address.port)
    except OSError as error:
        raise ConnectionLost(ABNORMAL, f"cannot reach {address}: {error}") from error
    if not address.tls:
        return stream
    secure = trio.SSLStream(
        stream,
        context or ssl.create_default_context(),
        server_hostname=address.host,
        https_compatible=True,
    )
    try:
        await secure.do_handshake()
    except trio.BrokenResourceError as error:
        await trio.aclose_forcefully(stream)
        cause = error.__cause__
        if isinstance(cause, ssl.SSLCertVerificationError):
            raise HandshakeRefused("tls", str(cause)) from error
        reason = f"no TLS with {address}: {cause or 'the connection ended'}"
        raise ConnectionLost(ABNORMAL, reason) from error
    except BaseException:
        await trio.aclose_forcefully(stream)
        raise
    return secure


async def _run_socket(
    stream: _WatchedStream,
    address: Address,
    *,
    task_status: trio.TaskStatus[WebSocketConnection],
) -> None:
    """Own trio-websocket's reader task, and what that raises."""
    opened = trio.CancelScope()
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_cancel_at_end, stream, nursery, opened)
            socket = await wrap_client_stream(
                nursery,
                # Typed as a socket's, but any stream will do.
                stream,  # type: ignore[arg-type]
                address.authority,
                address.resource,
                max_message_size=FRAME_BYTES,
                receive_buffer_size=_RECEIVE_BYTES,
            )
            opened.cancel()
            task_status.started(socket)
    except BaseExceptionGroup as group:
        expected = (ConnectionRejected, ConnectionClosed, WebSocketProtocolError)
        found, rest = group.split(expected)
        if rest is not None:
            raise
        if not opened.cancel_called:
            raise _refusal(stream, found) from None
    else:
        if not opened.cancel_called:
            raise _refusal(stream, None)


async def _cancel_at_end(
    stream: _WatchedStream, nursery: trio.Nursery, opened: trio.CancelScope
) -> None:
    """End an upgrade whose TCP connection ends, for which nothing else looks."""
    with opened:
        await stream.ended.wait()
        nursery.cancel_scope.cancel()


def _refusal(
    stream: _WatchedStream, found: BaseExceptionGroup[BaseException] | None
) -> ConnectionLost | HandshakeRefused:
    answered = _STATUS.match(stream.first_bytes)
    if answered is None:
        return ConnectionLost(ABNORMAL, "closed before it was a WebSocket")
    status = int(answered.group(1))
    body = b""
    leaf: BaseException | None = found
    while isinstance(leaf, BaseExceptionGroup):
        leaf = leaf.exceptions[0]
    if isinstance(leaf, ConnectionRejected):
        body = leaf.body or b""
    text = body[:_BODY_BYTES].decode(errors="replace").strip()
    code = _HTTP_CODES.get(status, f"http_{status}")
    return HandshakeRefused(
        code, f"HTTP {status} instead of a WebSocket {text}".strip()
    )


def _lost(closed: ConnectionClosed) -> ConnectionLost:
    if closed.reason is None:
        return ConnectionLost(ABNORMAL)
    return ConnectionLost(closed.reason.code, closed.reason.reason or "")
