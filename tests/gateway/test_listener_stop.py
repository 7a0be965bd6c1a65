"""A stop: 1001 to every WebSocket, a grace period, then by force, never longer."""

from collections.abc import Awaitable, Callable

import pytest
import trio
from quart import Quart
from trio.testing import MockClock
from trio_websocket import ConnectionClosed

from tests.gateway.edge_kit import Edge, echo, request, running, upgrade
from vance_sdk.wire.params import ConnectionParams
from vancetope.gateway.http import create_app
from vancetope.gateway.websocket import ConnectionLost, WebSocket

GRACE_S = 3.0


@pytest.fixture
def autojump_clock() -> MockClock:
    """Virtual time that lets the kernel move loopback bytes before it jumps."""
    return MockClock(autojump_threshold=0.05)


async def test_every_websocket_gets_1001_and_its_handler_may_finish(
    autojump_clock: MockClock,
) -> None:
    finished = []

    async def handler(ws: WebSocket, params: ConnectionParams, peer: str) -> None:
        with pytest.raises(ConnectionLost) as caught:
            await ws.receive()
        await trio.sleep(0.5)
        finished.append(caught.value.code)

    async with running(handler) as edge:
        async with edge.websocket() as one, edge.websocket() as two:
            await one.ping()
            await two.ping()
            took = await edge.stopped_within()
            for client in (one, two):
                with pytest.raises(ConnectionClosed) as caught:
                    await client.get_message()
                assert caught.value.reason is not None
                assert caught.value.reason.code == 1001
                assert caught.value.reason.reason == "server shutdown"

    assert finished == [1001, 1001]
    assert took < 1


async def test_nothing_is_accepted_after_a_stop(autojump_clock: MockClock) -> None:
    async with running() as edge:
        assert await edge.stopped_within() < 0.1

        with pytest.raises(OSError, match="all attempts to connect"):
            await trio.open_tcp_stream(edge.address.host, edge.address.port)


async def flooded_websocket(edge: Edge, held: list[trio.SocketStream]) -> None:
    """A WebSocket that asked for a flood and never reads."""
    stream = await trio.open_tcp_stream(edge.address.host, edge.address.port)
    held.append(stream)
    await stream.send_all(upgrade("/api/ws?name=flood").encode())


async def flooded_http(edge: Edge, held: list[trio.SocketStream]) -> None:
    """An HTTP client that asked for more than the buffers hold and never reads."""
    stream = await trio.open_tcp_stream(edge.address.host, edge.address.port)
    held.append(stream)
    await stream.send_all(request("/endless").encode())


async def oversized_websocket(edge: Edge, held: list[trio.SocketStream]) -> None:
    """A WebSocket in the middle of a frame of 3 MiB that it never finishes."""
    stream = await trio.open_tcp_stream(edge.address.host, edge.address.port)
    held.append(stream)
    size = (3 * 2**20).to_bytes(8, "big")
    await stream.send_all(upgrade().encode() + b"\x81\xff" + size + bytes(4))
    await stream.send_all(bytes(2 * 2**20))


async def vanished_websocket(edge: Edge, held: list[trio.SocketStream]) -> None:
    """A WebSocket whose peer answers nothing any more."""
    stream = await trio.open_tcp_stream(edge.address.host, edge.address.port)
    held.append(stream)
    await stream.send_all(upgrade().encode())


async def half_a_head(edge: Edge, held: list[trio.SocketStream]) -> None:
    """A request that was never finished."""
    stream = await trio.open_tcp_stream(edge.address.host, edge.address.port)
    held.append(stream)
    await stream.send_all(b"GET / HTTP/1.1\r\n")


async def half_a_body(edge: Edge, held: list[trio.SocketStream]) -> None:
    """A request whose body stopped coming."""
    stream = await trio.open_tcp_stream(edge.address.host, edge.address.port)
    held.append(stream)
    await stream.send_all(
        request("/upload", method="POST", Content_Length="9").encode()
    )


async def a_stuck_route(edge: Edge, held: list[trio.SocketStream]) -> None:
    """A request whose route does not come back."""
    stream = await trio.open_tcp_stream(edge.address.host, edge.address.port)
    held.append(stream)
    await stream.send_all(request("/stuck").encode())


async def keep_alive(edge: Edge, held: list[trio.SocketStream]) -> None:
    """A connection kept open between two requests."""
    stream = await trio.open_tcp_stream(edge.address.host, edge.address.port)
    held.append(stream)
    await stream.send_all(request("/healthz").encode())
    await stream.receive_some(65536)


def app_with_traps() -> Quart:
    app = create_app(lambda: None)

    @app.get("/endless")
    async def endless() -> bytes:
        return bytes(32 * 2**20)

    @app.get("/stuck")
    async def stuck() -> str:
        await trio.sleep_forever()
        raise AssertionError

    @app.post("/upload")
    async def upload() -> str:
        from quart import request as current

        await current.get_data()
        return ""

    return app


async def flood_or_echo(ws: WebSocket, params: ConnectionParams, peer: str) -> None:
    if params.name == "flood":
        while True:
            await ws.send("x" * 100_000)
    await echo(ws, params, peer)


Trouble = Callable[[Edge, list[trio.SocketStream]], Awaitable[None]]
TROUBLES: list[Trouble] = [
    flooded_websocket,
    flooded_http,
    oversized_websocket,
    vanished_websocket,
    half_a_head,
    half_a_body,
    a_stuck_route,
    keep_alive,
]


@pytest.mark.parametrize("troubles", [*([t] for t in TROUBLES), TROUBLES * 3])
async def test_no_client_holds_up_a_stop(
    troubles: list[Trouble], autojump_clock: MockClock
) -> None:
    # Seen to fail for `flooded_http` without the cut after the grace period: its
    # send is shielded.
    held: list[trio.SocketStream] = []
    async with running(
        flood_or_echo,
        app_factory=app_with_traps,
        send_timeout_s=60,
        shutdown_grace_s=GRACE_S,
    ) as edge:
        for trouble in troubles:
            await trouble(edge, held)
        async with edge.websocket() as client:
            await client.send_message("between the troubles")
            assert await client.get_message() == "between the troubles"
            await trio.sleep(0.5)

            took = await edge.stopped_within()

            with pytest.raises(ConnectionClosed) as caught:
                await client.get_message()
            assert caught.value.reason is not None
            assert caught.value.reason.code == 1001
        for stream in held:
            await trio.aclose_forcefully(stream)

    assert took <= GRACE_S + 1


async def test_half_a_request_does_not_use_up_the_grace_period(
    autojump_clock: MockClock,
) -> None:
    held: list[trio.SocketStream] = []
    async with running(app_factory=app_with_traps) as edge:
        await half_a_head(edge, held)
        await keep_alive(edge, held)
        took = await edge.stopped_within()
    for stream in held:
        await trio.aclose_forcefully(stream)

    assert took < 0.5


async def test_a_request_in_flight_is_answered_within_the_grace_period(
    autojump_clock: MockClock,
) -> None:
    def app() -> Quart:
        app = create_app(lambda: None)

        @app.get("/slow")
        async def slow() -> str:
            await trio.sleep(1)
            return "done"

        return app

    async with running(app_factory=app) as edge, edge.caller() as caller:
        await caller.send(request("/slow"))
        await trio.sleep(0.5)
        took = await edge.stopped_within()
        answer = await caller.answer()

    assert answer.body == b"done"
    assert took < 1


async def test_a_handler_that_ignores_the_end_is_cancelled_after_the_grace_period(
    autojump_clock: MockClock,
) -> None:
    ended = trio.Event()

    async def handler(ws: WebSocket, params: ConnectionParams, peer: str) -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.set()

    async with running(handler, shutdown_grace_s=GRACE_S) as edge:
        async with edge.websocket() as client:
            await client.ping()
            took = await edge.stopped_within()

    assert ended.is_set()
    assert took <= GRACE_S + 1


async def test_a_cancelled_listener_waits_for_nobody(
    autojump_clock: MockClock,
) -> None:
    held: list[trio.SocketStream] = []
    async with running(
        flood_or_echo, app_factory=app_with_traps, send_timeout_s=60
    ) as edge:
        for trouble in TROUBLES:
            await trouble(edge, held)
        await trio.sleep(0.5)
        started = trio.current_time()
    # `running` cancels at the end of its block.
    assert trio.current_time() - started < 1
    for stream in held:
        await trio.aclose_forcefully(stream)
