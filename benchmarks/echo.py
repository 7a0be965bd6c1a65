"""Gateway echo against a bare trio-websocket echo server, as a ratio.

Both servers run as processes of their own for the whole time; rounds alternate
between them, so that whatever else the machine does hits both alike.  Printed is
the median of the per-round ratios (gateway / bare), for one and for ten connections.

    python benchmarks/echo.py [--rounds 9] [--messages 6000] [--connections 1 10]
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from functools import partial

import trio
from trio_websocket import (
    ConnectionClosed,
    WebSocketConnection,
    WebSocketRequest,
    serve_websocket,
    wrap_client_stream,
)

HOST = "127.0.0.1"
GOAL = 0.9
#: The size of a small `task-update`.
MESSAGE = '{"type":"task-update","task_id":"task_0","status":"running"}' + " " * 374


async def bare() -> None:
    async def handler(request: WebSocketRequest) -> None:
        connection = await request.accept()
        try:
            while True:
                await connection.send_message(await connection.get_message())
        except ConnectionClosed:
            pass

    async with trio.open_nursery() as nursery:
        server = await nursery.start(
            partial(serve_websocket, handler, HOST, 0, ssl_context=None)
        )
        print(server.port, flush=True)


async def gateway() -> None:
    from vancetope.gateway.edge import EdgeConfig
    from vancetope.gateway.http_side import load_app
    from vancetope.gateway.listener import Listener
    from vancetope.gateway.websocket import WebSocket

    async def handler(websocket: WebSocket, _params: str, _peer: str) -> None:
        websocket.authenticated()
        while True:
            await websocket.send(await websocket.receive())

    listener = Listener(
        config=EdgeConfig(host=HOST, port=0),
        app_factory=load_app(lambda: None),
        on_websocket=handler,
        parse_query=str,
    )
    async with trio.open_nursery() as nursery:
        address = await nursery.start(listener.serve)
        print(address.port, flush=True)


async def load(port: int, connections: int, messages: int) -> float:
    """Echo `messages` over each connection; messages a second of all together."""

    async def talk(websocket: WebSocketConnection) -> None:
        for _ in range(messages):
            await websocket.send_message(MESSAGE)
            await websocket.get_message()

    async with trio.open_nursery() as background:
        sockets = []
        for _ in range(connections):
            stream = await trio.open_tcp_stream(HOST, port)
            sockets.append(
                await wrap_client_stream(
                    background, stream, f"{HOST}:{port}", "/api/ws"
                )
            )
        started = time.perf_counter()
        async with trio.open_nursery() as talkers:
            for websocket in sockets:
                talkers.start_soon(talk, websocket)
        took = time.perf_counter() - started
        for websocket in sockets:
            with trio.move_on_after(1):
                await websocket.aclose()
        background.cancel_scope.cancel()
    return connections * messages / took


def start(name: str) -> tuple[subprocess.Popen[str], int]:
    process = subprocess.Popen(
        [sys.executable, os.fspath(__file__), "--serve", name],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def compare(rounds: int, messages: int, counts: list[int]) -> None:
    servers = {name: start(name) for name in ("bare", "gateway")}
    try:
        for count in counts:
            rates: dict[str, list[float]] = {name: [] for name in servers}
            # One round more than is counted: the first warms both up.
            for index in range(rounds + 1):
                names = sorted(servers, reverse=bool(index % 2))
                for name in names:
                    port = servers[name][1]
                    rate = trio.run(load, port, count, max(1, messages // count))
                    if index:
                        rates[name].append(rate)
            pairs = zip(rates["gateway"], rates["bare"], strict=True)
            ratio = statistics.median(ours / theirs for ours, theirs in pairs)
            ours, theirs = (statistics.median(rates[n]) for n in ("gateway", "bare"))
            verdict = "ok" if ratio >= GOAL else "BELOW THE GOAL"
            print(
                f"{count:3} connections: gateway {ours:7.0f}/s  bare {theirs:7.0f}/s"
                f"  ratio {ratio:.3f} (goal {GOAL}: {verdict})"
            )
    finally:
        for process, _ in servers.values():
            process.terminate()
            process.wait(timeout=10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", choices=["bare", "gateway"])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--messages", type=int, default=6000)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 10])
    args = parser.parse_args()
    if args.serve:
        trio.run({"bare": bare, "gateway": gateway}[args.serve])
    else:
        compare(args.rounds, args.messages, args.connections)


if __name__ == "__main__":
    main()
