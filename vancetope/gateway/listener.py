"""The one port: reads a request head and decides who serves the connection.

`GET /api/ws` becomes a `WebSocket` for `on_websocket`, all else goes to the HTTP
side, which loads in a worker thread while the port already answers.  A connection
can fail only itself: no handler's exception reaches the nursery that serves the
others.
"""

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, Generic, TypeVar

import attrs
import trio
from trio_websocket import ConnectionClosed, wrap_server_stream
from wsproto.utilities import LocalProtocolError

from vancetope.gateway.bind import Address, open_port, policy_of
from vancetope.gateway.edge import EdgeConfig
from vancetope.gateway.head import RequestHead, read_head
from vancetope.gateway.http_side import AppFactory, HttpSide, RunSync, in_thread
from vancetope.gateway.origin import CallerPolicy
from vancetope.gateway.refusal import Refusal
from vancetope.gateway.streams import ReplayStream, linger
from vancetope.gateway.upgrade import check_upgrade, is_upgrade
from vancetope.gateway.waiting_room import WaitingRoom
from vancetope.gateway.websocket import (
    GOING_AWAY,
    INTERNAL_ERROR,
    TOO_BIG,
    TOO_SLOW_OR_TOO_MANY,
    ConnectionLost,
    WebSocket,
)

logger: Final = logging.getLogger(__name__)

ParamsT = TypeVar("ParamsT")

#: What ends a connection without being anybody's fault.
_GONE: Final = (
    trio.BrokenResourceError,
    trio.ClosedResourceError,
    ConnectionClosed,
    LocalProtocolError,
)
_RECEIVE_BUFFER: Final = 65536
#: How long the app may take to shut down once its connections are closed.
_LIFESPAN_S: Final = 1.0


@attrs.define(eq=False, kw_only=True)
class _Connection:
    stream: trio.SocketStream
    peer: str
    is_http: bool = False
    websocket: WebSocket | None = None

    def cut(self) -> None:
        """Close the socket now; whoever waits on it is told."""
        self.stream.socket.close()

    async def evict(self) -> None:
        if self.websocket is not None:
            await self.websocket.evict(
                TOO_SLOW_OR_TOO_MANY, "too many sockets wait to authenticate"
            )
        self.cut()


@attrs.define(eq=False, kw_only=True)
class Listener(Generic[ParamsT]):
    """Serves one port.  Make it, start `serve` in a nursery, end it with `stop`.

    Attributes:
        app_factory: makes the ASGI app of the HTTP side, in a worker thread.
        on_websocket: serves an accepted WebSocket; it is closed when this returns
            (1000) or raises (1011).  `ConnectionLost` may simply pass through, alone
            or in a group.
        parse_query: turns the upgrade's query string into parameters, before the
            WebSocket is accepted.
        bad_query: what `parse_query` raises for a bad one; its text is shown to the
            caller in a 400.
    """

    config: EdgeConfig
    app_factory: AppFactory
    on_websocket: Callable[[WebSocket, ParamsT, str], Awaitable[None]]
    parse_query: Callable[[str], ParamsT]
    bad_query: type[Exception] = ValueError
    run_sync: RunSync = in_thread
    _connections: set[_Connection] = attrs.field(init=False, factory=set)
    _waiting: WaitingRoom[_Connection] = attrs.field(init=False)
    _policy: CallerPolicy = attrs.field(init=False)
    _http: HttpSide = attrs.field(init=False)
    _stopping: trio.Event = attrs.field(init=False, factory=trio.Event)
    _empty: trio.Event = attrs.field(init=False, factory=trio.Event)

    def __attrs_post_init__(self) -> None:
        self._waiting = WaitingRoom(self.config.max_unauthenticated)

    async def serve(
        self, *, task_status: trio.TaskStatus[Address] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Accept connections until `stop()`; started with the address bound.

        Returns within the grace period of a stop.  When cancelled it closes every
        connection at once, without a goodbye.

        Raises:
            HomeError: the port cannot be opened.
        """
        listeners = await open_port(self.config)
        try:
            self._policy = policy_of(self.config, listeners)
            address = Address(*listeners[0].socket.getsockname()[:2])
            self._http = HttpSide(
                config=self.config,
                policy=self._policy,
                app_factory=self.app_factory,
                run_sync=self.run_sync,
            )
            async with trio.open_nursery() as services:
                services.start_soon(self._http.run)
                await self._serve_connections(
                    listeners, partial(task_status.started, address)
                )
                self._http.stop()
                services.cancel_scope.deadline = trio.current_time() + _LIFESPAN_S
        finally:
            for listener in listeners:
                listener.socket.close()

    def stop(self) -> None:
        """Stop accepting, say goodbye (1001), and let `serve` return."""
        self._stopping.set()

    async def _serve_connections(
        self, listeners: list[trio.SocketListener], started: Callable[[], None]
    ) -> None:
        async with trio.open_nursery() as connections:
            try:
                async with trio.open_nursery() as accepting:
                    accepting.start_soon(
                        partial(
                            trio.serve_listeners,
                            self._handle,
                            listeners,
                            handler_nursery=connections,
                        )
                    )
                    started()
                    await self._stopping.wait()
                    accepting.cancel_scope.cancel()
                await self._say_goodbye()
            finally:
                for connection in self._connections:
                    connection.cut()
            connections.cancel_scope.cancel()

    async def _say_goodbye(self) -> None:
        with trio.move_on_after(self.config.shutdown_grace_s):
            await self._http.finish()
            async with trio.open_nursery() as farewells:
                for connection in self._connections:
                    if connection.websocket is not None:
                        farewells.start_soon(
                            connection.websocket.close, GOING_AWAY, "server shutdown"
                        )
                    elif not connection.is_http:
                        connection.cut()
            if self._connections:
                await self._empty.wait()

    async def _handle(self, stream: trio.SocketStream) -> None:
        """Serve one connection; whatever goes wrong in it ends here."""
        if self._stopping.is_set():
            stream.socket.close()
            return
        connection = _Connection(stream=stream, peer=_peer(stream))
        self._connections.add(connection)
        try:
            evicted = self._waiting.enter(connection)
            if evicted is not None:
                await evicted.evict()
            await self._answer(connection)
        except* _GONE as gone:
            logger.debug("%s went away: %r", connection.peer, gone)
        except* Exception:
            logger.exception("the connection from %s failed", connection.peer)
        finally:
            connection.cut()
            self._waiting.leave(connection)
            self._connections.discard(connection)
            if self._stopping.is_set() and not self._connections:
                self._empty.set()

    async def _answer(self, connection: _Connection) -> None:
        head = None
        try:
            head = await self._read_head(connection)
            if head is None:
                return
            self._policy.check(head.values("host"), head.values("origin"))
            stream = ReplayStream(connection.stream, head.raw, head.rest)
            if is_upgrade(head):
                check_upgrade(head)
                params = self._params(head.query)
                await self._serve_websocket(connection, stream, params)
            else:
                await self._serve_http(connection, stream)
        except Refusal as refusal:
            with_body = head is None or head.method != "HEAD"
            with trio.move_on_after(self.config.send_timeout_s):
                await connection.stream.send_all(refusal.to_bytes(with_body=with_body))
            await linger(connection.stream, seconds=self.config.linger_s)

    async def _read_head(self, connection: _Connection) -> RequestHead | None:
        with trio.move_on_after(self.config.head_timeout_s):
            return await read_head(connection.stream, limit=self.config.head_limit)
        raise Refusal(408, f"no request within {self.config.head_timeout_s:g} s")

    def _params(self, query: str) -> ParamsT:
        try:
            return self.parse_query(query)
        except self.bad_query as error:
            raise Refusal(400, str(error)) from None

    async def _serve_http(self, connection: _Connection, stream: ReplayStream) -> None:
        if sum(other.is_http for other in self._connections) >= self.config.max_http:
            raise Refusal(503, "too many HTTP connections", (("retry-after", "1"),))
        connection.is_http = True
        self._waiting.leave(connection)
        await self._http.serve(stream)

    async def _serve_websocket(
        self, connection: _Connection, stream: ReplayStream, params: ParamsT
    ) -> None:
        async with trio.open_nursery() as nursery:
            websocket = await self._accept(nursery, connection, stream)
            if websocket is not None:
                nursery.start_soon(websocket.watch_sends)
                await self._run_session(websocket, params)
            nursery.cancel_scope.cancel()
        ended = None if websocket is None else websocket.ended
        if ended is not None and ended.code == TOO_BIG:
            await linger(connection.stream, seconds=self.config.linger_s)

    async def _accept(
        self, nursery: trio.Nursery, connection: _Connection, stream: ReplayStream
    ) -> WebSocket | None:
        with trio.move_on_after(self.config.accept_timeout_s):
            request = await wrap_server_stream(
                nursery,
                stream,
                max_message_size=self.config.frame_limit,
                receive_buffer_size=_RECEIVE_BUFFER,
            )
            accepted = await request.accept()
            stream.release()
            connection.websocket = WebSocket(
                peer=connection.peer,
                connection=accepted,
                socket=stream.socket,
                config=self.config,
                on_authenticated=partial(self._waiting.leave, connection),
            )
        return connection.websocket

    async def _run_session(self, websocket: WebSocket, params: ParamsT) -> None:
        try:
            await self.on_websocket(websocket, params, websocket.peer)
        except* ConnectionLost as lost:
            logger.debug("%s: %r", websocket.peer, lost)
        except* Exception:
            logger.exception("the session of %s failed", websocket.peer)
            await websocket.close(INTERNAL_ERROR, "internal error")
        await websocket.close()


def _peer(stream: trio.SocketStream) -> str:
    try:
        host, port = stream.socket.getpeername()[:2]
    except OSError:
        return "a peer that left"
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
