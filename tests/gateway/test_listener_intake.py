"""What the port takes in: heads, numbers of sockets, addresses it can be bound to."""

import errno
import socket
import subprocess
import sys
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.gateway.edge_kit import (
    Edge,
    Recorder,
    close_code,
    echo,
    running,
    upgrade,
)
from vance_sdk.wire.params import ConnectionParams
from vancetope.errors import HomeError
from vancetope.gateway.websocket import WebSocket

#: One text frame "hi" of a client, masked with zeros (RFC 6455 section 5.2).
MASKED_HI = b"\x81\x82\x00\x00\x00\x00hi"


@pytest.fixture
def autojump_clock() -> MockClock:
    """Virtual time that lets the kernel move loopback bytes before it jumps."""
    return MockClock(autojump_threshold=0.05)


async def test_a_silent_connection_is_answered_408_after_the_head_timeout(
    autojump_clock: MockClock,
) -> None:
    started = trio.current_time()
    async with running(head_timeout_s=10) as edge, edge.caller() as caller:
        await caller.send("GET / HTTP/1.1\r\nHost: loc")
        answer = await caller.answer()

        assert answer.status == 408
        assert 10 <= trio.current_time() - started < 11


async def test_a_head_that_drips_in_does_not_extend_its_deadline(
    autojump_clock: MockClock,
) -> None:
    async with running(head_timeout_s=10) as edge, edge.caller() as caller:
        async with trio.open_nursery() as nursery:

            async def drip() -> None:
                await caller.send("GET / HTTP/1.1\r\n")
                while True:
                    await caller.send("X: y\r\n")
                    await trio.sleep(3)

            nursery.start_soon(drip)
            answer = await caller.answer()
            nursery.cancel_scope.cancel()

    assert answer.status == 408


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nA: \x00\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nA: b\r\n c\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nA: " + b"x" * 70_000, 431),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nA: " + b"x" * 3_000_000, 431),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    ],
)
async def test_malformed_bytes_get_an_error_in_the_one_shape(
    data: bytes, status: int
) -> None:
    async with running() as edge, edge.caller() as caller:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(caller.send, data)
            answer = await caller.answer()

    assert answer.status == status
    assert set(answer.json["error"]) == {"code", "message"}
    assert answer.headers["connection"] == "close"


async def test_a_newcomer_evicts_the_oldest_socket_before_authentication() -> None:
    recorder = Recorder()
    async with running(recorder, max_unauthenticated=2) as edge:
        async with edge.websocket() as oldest, edge.caller() as silent:
            await recorder.accepted.wait()
            async with edge.websocket() as newest:
                # `silent` may have been accepted before or after `newest`.
                assert await close_code(oldest) == (
                    4429,
                    "too many sockets wait to authenticate",
                )
                await newest.ping()
            del silent


async def test_two_hundred_idle_sockets_leave_room_for_one_that_works() -> None:
    authenticated = trio.Event()
    evicted = trio.Event()
    closed = 0

    async def handler(ws: WebSocket, params: ConnectionParams, peer: str) -> None:
        if params.name == "owner":
            ws.authenticated()
            authenticated.set()
        await echo(ws, params, peer)

    async def idle(edge: Edge, hello: str) -> None:
        nonlocal closed
        async with edge.caller() as caller:
            await caller.send(hello)
            while not await caller.is_closed():
                pass
            closed += 1
            if closed == 200 - 64:
                evicted.set()

    async with (
        running(handler) as edge,
        trio.open_nursery() as nursery,
        edge.websocket("?name=owner") as owner,
    ):
        await authenticated.wait()
        for index in range(200):
            nursery.start_soon(idle, edge, upgrade() if index % 2 else "GET /")
        await evicted.wait()
        await owner.send_message("mine")
        assert await owner.get_message() == "mine"
        assert closed == 200 - 64

        async with edge.websocket() as late:
            await late.send_message("hello")
            assert await late.get_message() == "hello"
        nursery.cancel_scope.cancel()


async def test_out_of_file_descriptors_is_survived(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    original = trio.SocketListener.accept
    failures = iter([errno.EMFILE, errno.ENFILE])

    async def accept(self: trio.SocketListener) -> trio.SocketStream:
        stream = await original(self)
        for code in failures:
            await trio.aclose_forcefully(stream)
            raise OSError(code, "no descriptor left")
        return stream

    monkeypatch.setattr(trio.SocketListener, "accept", accept)
    async with running() as edge:
        for _ in range(2):
            async with edge.caller() as refused:
                assert await refused.is_closed()
        async with edge.websocket() as client:
            await client.send_message("through")
            assert await client.get_message() == "through"


async def test_a_port_in_use_names_itself_and_the_fix() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.RaisesGroup(HomeError) as caught:
            async with running(port=port):
                raise AssertionError("it listens")

    [error] = caught.value.exceptions
    assert str(error) == (
        f"cannot listen on 127.0.0.1:{port}: the port is in use. "
        "Stop what uses it, or take a free one with `--port 0`."
    )


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"host": "192.0.2.1"}, "cannot listen on 192.0.2.1:0: "),
        ({"port": 70_000}, "70000 is not a port. Choose one"),
        ({"allowed_hosts": ("*",)}, "allowed host '*'"),
        ({"allowed_origins": ("null",)}, "allowed origin 'null'"),
    ],
)
async def test_what_cannot_be_served_is_one_readable_line(
    settings: dict[str, Any], text: str
) -> None:
    with pytest.RaisesGroup(HomeError) as caught:
        async with running(**settings):
            raise AssertionError("it listens")

    assert str(caught.value.exceptions[0]).startswith(text)


async def test_ipv6_is_served_and_written_in_brackets() -> None:
    async with running(host="::1") as edge, edge.caller() as caller:
        answer = await caller.ask(upgrade(host=f"[::1]:{edge.address.port}"))

    assert answer.status == 101
    assert edge.address.url == f"http://[::1]:{edge.address.port}"


async def test_a_name_that_has_two_addresses_gets_one_port() -> None:
    async with running(host="localhost") as edge:
        async with edge.websocket() as client:
            await client.send_message("a")
            assert await client.get_message() == "a"


def test_the_listener_loads_neither_quart_nor_hypercorn() -> None:
    code = (
        "import sys, vancetope.gateway.listener\n"
        "print([m for m in ('quart', 'hypercorn', 'werkzeug') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"
