"""The fake WebSocket keeps the contract of the real one."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import cast

import attrs
import pytest
import trio
from trio.testing import MockClock
from trio_websocket import ConnectionClosed, WebSocketConnection, wrap_client_stream

from tests.gateway.edge_kit import running
from tests.support.sockets import ClientEnd, Closed, FakeWebSocket
from vance_sdk.wire.params import ConnectionParams
from vancetope.gateway.websocket import ConnectionLost, WebSocket

Serve = Callable[[WebSocket], Awaitable[None]]
Connect = Callable[[Serve], AbstractAsyncContextManager[ClientEnd]]


@pytest.fixture
def autojump_clock() -> MockClock:
    """Virtual time that lets the kernel move loopback bytes before it jumps."""
    return MockClock(autojump_threshold=0.05)


@attrs.define(eq=False)
class FreezableStream(trio.abc.Stream):
    """A TCP stream that can stop reading."""

    stream: trio.SocketStream
    frozen: bool = False

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        data = await self.stream.receive_some(max_bytes)
        if self.frozen:
            await trio.sleep_forever()
        return bytes(data)

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self.stream.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self.stream.wait_send_all_might_not_block()

    async def aclose(self) -> None:
        await trio.aclose_forcefully(self.stream)


@attrs.define(eq=False)
class RealEnd:
    """A `ClientEnd` over a real connection."""

    websocket: WebSocketConnection
    stream: FreezableStream

    async def send(self, frame: str | bytes) -> None:
        try:
            await self.websocket.send_message(frame)
        except ConnectionClosed as closed:
            raise self._closed(closed) from None

    async def receive(self) -> str:
        try:
            return cast("str", await self.websocket.get_message())
        except ConnectionClosed as closed:
            raise self._closed(closed) from None

    async def close(self) -> None:
        with trio.move_on_after(1):
            await self.websocket.aclose()

    def vanish(self) -> None:
        self.stream.stream.socket.close()

    def freeze(self) -> None:
        self.stream.frozen = True

    def _closed(self, closed: ConnectionClosed) -> Closed:
        reason = closed.reason
        if reason is None:
            return Closed(1006)
        return Closed(reason.code, reason.reason or "")


@asynccontextmanager
async def over_tcp(serve: Serve) -> AsyncIterator[ClientEnd]:
    async def handler(ws: WebSocket, params: ConnectionParams, peer: str) -> None:
        await serve(ws)

    async with running(handler) as edge, trio.open_nursery() as nursery:
        stream = FreezableStream(
            await trio.open_tcp_stream(edge.address.host, edge.address.port)
        )
        websocket = await wrap_client_stream(
            nursery,
            cast("trio.SocketStream", stream),
            f"localhost:{edge.address.port}",
            "/api/ws",
        )
        try:
            yield RealEnd(websocket, stream)
        finally:
            stream.stream.socket.close()
            nursery.cancel_scope.cancel()


@asynccontextmanager
async def over_memory(serve: Serve) -> AsyncIterator[ClientEnd]:
    socket = FakeWebSocket(send_timeout_s=10.0)

    async def handler() -> None:
        try:
            await serve(cast("WebSocket", socket))
        except ConnectionLost:
            return
        await socket.close()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(handler)
        yield socket.client
        nursery.cancel_scope.cancel()


@pytest.fixture(params=[over_memory, over_tcp], ids=["fake", "real"])
def connect(request: pytest.FixtureRequest) -> Connect:
    return cast("Connect", request.param)


@attrs.define(eq=False)
class Witness:
    """Serves a socket and notes how it ended."""

    serve: Serve
    lost: ConnectionLost | None = None
    socket: WebSocket | None = None
    done: trio.Event = attrs.field(factory=trio.Event)

    async def __call__(self, ws: WebSocket) -> None:
        self.socket = ws
        try:
            await self.serve(ws)
        except ConnectionLost as lost:
            self.lost = lost
            raise
        finally:
            self.done.set()

    async def code(self) -> int:
        with trio.fail_after(60):
            await self.done.wait()
        assert self.lost is not None
        return self.lost.code


async def listening(ws: WebSocket) -> None:
    while True:
        await ws.receive()


async def test_frames_go_both_ways_in_order(
    connect: Connect, autojump_clock: MockClock
) -> None:
    async def echo(ws: WebSocket) -> None:
        while True:
            await ws.send(await ws.receive())

    async with connect(echo) as client:
        for text in ("one", "", "two"):
            await client.send(text)
        assert [await client.receive() for _ in range(3)] == ["one", "", "two"]


async def test_a_returning_handler_closes_1000(
    connect: Connect, autojump_clock: MockClock
) -> None:
    async def once(ws: WebSocket) -> None:
        await ws.send("bye")

    async with connect(once) as client:
        assert await client.receive() == "bye"
        with pytest.raises(Closed) as closed:
            await client.receive()
        assert closed.value.code == 1000
        with pytest.raises(Closed):
            await client.send("too late")


async def test_a_close_of_the_brain_reaches_both_ends(
    connect: Connect, autojump_clock: MockClock
) -> None:
    async def closing(ws: WebSocket) -> None:
        await ws.close(4409, "replaced")
        await ws.close(1011, "again")
        await ws.send("no")

    witness = Witness(closing)
    async with connect(witness) as client:
        with pytest.raises(Closed) as closed:
            await client.receive()
        assert (closed.value.code, closed.value.reason) == (4409, "replaced")
        assert await witness.code() == 4409
        assert witness.socket is not None
        assert witness.socket.ended is not None
        assert witness.socket.ended.code == 4409


async def test_a_goodbye_of_the_client_ends_the_receive(
    connect: Connect, autojump_clock: MockClock
) -> None:
    witness = Witness(listening)
    async with connect(witness) as client:
        await client.send("hello")
        await client.close()
        assert await witness.code() == 1000


async def test_a_client_that_vanishes_ends_the_receive_with_1006(
    connect: Connect, autojump_clock: MockClock
) -> None:
    witness = Witness(listening)
    async with connect(witness) as client:
        client.vanish()
        assert await witness.code() == 1006


@pytest.mark.requirement("003-2-text-frames")
async def test_a_binary_frame_closes_1003(
    connect: Connect, autojump_clock: MockClock
) -> None:
    witness = Witness(listening)
    async with connect(witness) as client:
        await client.send(b"\x00")
        with pytest.raises(Closed) as closed:
            await client.receive()
        assert closed.value.code == 1003
        assert await witness.code() == 1003


@pytest.mark.requirement("003-2-frame-size")
@pytest.mark.parametrize("size", [65_536, 65_537])
async def test_the_first_frame_has_the_smaller_limit(
    connect: Connect, size: int, autojump_clock: MockClock
) -> None:
    async def length(ws: WebSocket) -> None:
        while True:
            await ws.send(str(len(await ws.receive())))

    async with connect(length) as client:
        await client.send("x" * size)
        if size > 65_536:
            with pytest.raises(Closed) as closed:
                await client.receive()
            assert closed.value.code == 1009
        else:
            assert await client.receive() == str(size)
            await client.send("x" * (size + 1))
            assert await client.receive() == str(size + 1)


async def test_a_ping_returns_while_the_client_lives(
    connect: Connect, autojump_clock: MockClock
) -> None:
    async def pinging(ws: WebSocket) -> None:
        await ws.ping()
        await ws.send("alive")

    async with connect(pinging) as client:
        assert await client.receive() == "alive"


async def test_a_client_that_answers_no_ping_is_lost_with_1006(
    connect: Connect, autojump_clock: MockClock
) -> None:
    async def pinging(ws: WebSocket) -> None:
        await ws.receive()
        await ws.ping()

    witness = Witness(pinging)
    async with connect(witness) as client:
        client.freeze()
        await client.send("go")
        assert await witness.code() == 1006


async def test_a_client_that_does_not_read_is_cut_with_4429(
    connect: Connect, autojump_clock: MockClock
) -> None:
    async def flooding(ws: WebSocket) -> None:
        await ws.receive()
        while True:
            await ws.send("x" * 65_536)

    witness = Witness(flooding)
    async with connect(witness) as client:
        client.freeze()
        await client.send("go")
        assert await witness.code() == 4429
