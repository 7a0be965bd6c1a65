"""A listener on a port of its own, and clients that talk to it over real sockets."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest
import trio
from trio_websocket import ConnectionClosed, WebSocketConnection, wrap_client_stream

from vance_sdk.wire.errors import ProtocolError
from vance_sdk.wire.params import ConnectionParams, parse_params
from vancetope.gateway.bind import Address
from vancetope.gateway.edge import EdgeConfig
from vancetope.gateway.http import HttpServer, create_app
from vancetope.gateway.http_side import AppFactory, RunSync, in_thread
from vancetope.gateway.listener import Listener
from vancetope.gateway.websocket import ConnectionLost, WebSocket

Handler = Callable[[WebSocket, ConnectionParams, str], Awaitable[None]]

#: Virtual seconds; only ever reached when something hangs.
BOUND_S = 120.0


async def inline(load: Callable[[], HttpServer]) -> HttpServer:
    """Load the HTTP side without a thread: virtual time would pass it by."""
    await trio.lowlevel.checkpoint()
    return load()


async def echo(websocket: WebSocket, params: ConnectionParams, peer: str) -> None:
    """Send every frame back."""
    while True:
        await websocket.send(await websocket.receive())


@attrs.frozen
class Answer:
    """An HTTP response as it came over the wire."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@attrs.define(eq=False)
class Caller:
    """A raw TCP client."""

    stream: trio.SocketStream
    _unread: bytes = b""

    async def send(self, data: bytes | str) -> None:
        await self.stream.send_all(data.encode() if isinstance(data, str) else data)

    async def answer(self, *, head_only: bool = False) -> Answer:
        """Read one response; it must have a content-length or be chunked-free."""
        while b"\r\n\r\n" not in self._unread:
            await self._read()
        raw, _, self._unread = self._unread.partition(b"\r\n\r\n")
        first, *lines = raw.decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value
            for name, value in (line.split(": ", 1) for line in lines)
        }
        length = 0 if head_only else int(headers.get("content-length", "0"))
        while len(self._unread) < length:
            await self._read()
        body, self._unread = self._unread[:length], self._unread[length:]
        return Answer(int(first.split()[1]), headers, body)

    async def ask(self, data: bytes | str) -> Answer:
        await self.send(data)
        return await self.answer()

    async def get(self, path: str, **headers: str) -> Answer:
        return await self.ask(request(path, **headers))

    async def is_closed(self) -> bool:
        """Wait for the end; whether nothing more came before it."""
        try:
            return not self._unread and not await self.stream.receive_some(65536)
        except trio.BrokenResourceError:
            return True

    async def _read(self) -> None:
        data = await self.stream.receive_some(65536)
        assert data, f"the connection ended; before that came {self._unread!r}"
        self._unread += bytes(data)


def request(
    path: str,
    *,
    method: str = "GET",
    body: str = "",
    host: str = "localhost",
    **extra: str,
) -> str:
    """A request; `extra` are headers, `_` standing for `-`."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in extra.items()]
    return "\r\n".join([*lines, "", body])


def upgrade(path: str = "/api/ws", **changes: str | None) -> str:
    """The opening handshake of RFC 6455 section 1.2, with headers changed or left out."""
    headers: dict[str, str | None] = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec_WebSocket_Version": "13",
    }
    headers |= changes
    return request(path, **{k: v for k, v in headers.items() if v is not None})


@attrs.frozen
class Edge:
    """A running listener."""

    listener: Listener[ConnectionParams]
    address: Address
    done: trio.Event
    started_at: float

    @asynccontextmanager
    async def caller(self) -> AsyncIterator[Caller]:
        stream = await trio.open_tcp_stream(self.address.host, self.address.port)
        try:
            yield Caller(stream)
        finally:
            await trio.aclose_forcefully(stream)

    @asynccontextmanager
    async def websocket(self, query: str = "") -> AsyncIterator[WebSocketConnection]:
        # The library's client waits for the end of TCP without a bound, so the
        # stream is ours to close.
        async with self.caller() as caller, trio.open_nursery() as nursery:
            yield await wrap_client_stream(
                nursery,
                caller.stream,
                f"{self.address.host}:{self.address.port}",
                "/api/ws" + query,
                max_message_size=1 << 24,
            )
            nursery.cancel_scope.cancel()

    async def stopped_within(self) -> float:
        """Stop, wait for the end, and tell how many (virtual) seconds it took."""
        started = trio.current_time()
        self.listener.stop()
        await self.done.wait()
        return trio.current_time() - started


@asynccontextmanager
async def running(
    on_websocket: Handler = echo,
    *,
    ready: Callable[[], str | None] = lambda: None,
    app_factory: AppFactory | None = None,
    run_sync: RunSync | None = inline,
    **settings: Any,
) -> AsyncIterator[Edge]:
    """Run a listener for the time of the block; ends it by force if need be."""
    listener = Listener(
        config=EdgeConfig(**{"port": 0, **settings}),
        app_factory=app_factory or (lambda: create_app(ready)),
        on_websocket=on_websocket,
        parse_query=parse_params,
        bad_query=ProtocolError,
        run_sync=run_sync or in_thread,
    )
    done = trio.Event()

    async def serve(*, task_status: trio.TaskStatus[Address]) -> None:
        await listener.serve(task_status=task_status)
        done.set()

    with trio.fail_after(BOUND_S):
        async with trio.open_nursery() as nursery:
            address = await nursery.start(serve)
            yield Edge(listener, address, done, trio.current_time())
            nursery.cancel_scope.cancel()


async def close_code(websocket: WebSocketConnection) -> tuple[int, str | None]:
    with pytest.raises(ConnectionClosed) as caught:
        await websocket.get_message()
    assert caught.value.reason is not None
    return caught.value.reason.code, caught.value.reason.reason


class Recorder:
    """A handler that notes how each socket ended."""

    def __init__(self) -> None:
        self.lost: list[tuple[int, str]] = []
        self.seen: list[tuple[ConnectionParams, str]] = []
        self.accepted = trio.Event()
        self.ended = trio.Event()

    async def __call__(
        self, websocket: WebSocket, params: ConnectionParams, peer: str
    ) -> None:
        self.seen.append((params, peer))
        self.accepted.set()
        try:
            await self.use(websocket)
        except ConnectionLost as lost:
            self.lost.append((lost.code, lost.reason))
            raise
        finally:
            self.ended.set()

    async def use(self, websocket: WebSocket) -> None:
        while True:
            await websocket.receive()
