"""The Brain's own numbers, each beside a baseline of the same run.

ready       start of the process to its `ready` line, and resident memory
roundtrip   Brain -> client -> Brain, journalled, against a bare relay that makes the
            same commits (the result with its task's step, the next dispatch)
requeue     10,000 blocked tasks, one client connects: time to the first call, and the
            longest time the event loop did not answer meanwhile
tasks       2,000 no-op tasks on the Brain: durable tasks a second

    python benchmarks/brain.py [ready roundtrip requeue tasks] [--rounds 3]
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from functools import partial
from pathlib import Path
from typing import Final

import trio
from trio_websocket import (
    ConnectionClosed,
    WebSocketConnection,
    WebSocketRequest,
    open_websocket_url,
    serve_websocket,
)

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.relay import Script
from benchmarks.rig import (
    ServedBrain,
    connected,
    run,
    send,
    served,
    until,
)
from vancetope.clock import SystemClock
from vancetope.events import Bus
from vancetope.store.db import open_store

CHAIN: Final = 300
BLOCKED: Final = 10_000
NOOPS: Final = 2_000


def ready(rounds: int) -> None:
    seconds, memory = [], []
    for _ in range(rounds):
        with served() as brain:
            seconds.append(brain.seconds)
            urllib.request.urlopen(f"{brain.url}/readyz", timeout=30).read()
            memory.append(brain.resident_mb())
    print(f"ready: {statistics.median(seconds):.2f} s (goal 0.7)")
    print(f"resident after /readyz: {statistics.median(memory):.0f} MB (goal 80)")


def chain(length: int) -> str:
    lines = ["goal: chain", "tasks:"]
    for number in range(length):
        lines += [f"  - id: t{number}", "    tool: probe", "    args: {n: 1}"]
        if number:
            lines.append(f"    depends_on: [t{number - 1}]")
    return "\n".join(lines)


async def brain_roundtrips(token_of: "tuple[ServedBrain, str]") -> list[float]:
    brain, token = token_of
    async with connected(brain, token, "probe") as ws:
        await send(ws, type="process-start", goal="", workflow_id="chain")
        samples: list[float] = []
        sent = 0.0
        while True:
            frame = json.loads(await ws.get_message())
            if frame["type"] == "tool-request":
                if sent:
                    samples.append(time.perf_counter() - sent)
                sent = time.perf_counter()
                await send(
                    ws, type="tool-result", request_id=frame["request_id"], result=1
                )
            if frame["type"] == "process-status" and frame["status"] == "done":
                return samples


async def relay_server() -> None:
    """A WebSocket server that makes the commits of a round trip, and answers.

    No scheduler, no routing, no sessions: it knows beforehand what to write.
    """
    folder = Path(tempfile.mkdtemp())
    clock = SystemClock()
    async with open_store(folder / "relay.db", clock=clock, bus=Bus()) as store:
        script = Script(store, clock)

        async def handler(request: WebSocketRequest) -> None:
            ws = await request.accept()
            await script.begin()
            try:
                while True:
                    text = await ws.get_message()
                    await script.result()
                    await script.dispatch()
                    await ws.send_message(text)
            except ConnectionClosed:
                pass

        async with trio.open_nursery() as nursery:
            server = await nursery.start(
                partial(serve_websocket, handler, "127.0.0.1", 0, ssl_context=None)
            )
            print(server.port, flush=True)


async def relay_roundtrips(port: int) -> list[float]:
    message = json.dumps({"type": "tool-result", "request_id": "x" * 31, "result": 1})
    samples = []
    async with open_websocket_url(f"ws://127.0.0.1:{port}/") as ws:
        for _ in range(CHAIN):
            began = time.perf_counter()
            await ws.send_message(message)
            await ws.get_message()
            samples.append(time.perf_counter() - began)
    return samples


def roundtrip(rounds: int) -> None:
    ratios, ours, bare = [], [], []
    command = [sys.executable, __file__, "--relay"]
    relay = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert relay.stdout is not None
        port = int(relay.stdout.readline())
        with served({"chain": chain(CHAIN)}) as brain:
            token = brain.token()
            for _ in range(rounds):
                one = statistics.median(run(brain_roundtrips, (brain, token)))
                other = statistics.median(run(relay_roundtrips, port))
                ours.append(one)
                bare.append(other)
                ratios.append(one / other)
    finally:
        relay.terminate()
        relay.wait()
    print(
        f"round trip p50: {statistics.median(ours) * 1000:.2f} ms, bare relay with the"
        f" same commits {statistics.median(bare) * 1000:.2f} ms, ratio"
        f" {statistics.median(ratios):.2f} (goal 1.3, under 2 ms)"
    )


FAN: Final = """
inputs:
  n: {default: []}
tasks:
  - id: each
    tool: TOOL
    foreach: "{{ inputs.n }}"
result: done
"""


async def requeue_once(token_of: "tuple[ServedBrain, str]") -> tuple[float, float]:
    brain, token = token_of
    async with connected(brain, token, project="watch", name="w") as watcher:
        async with connected(brain, token, project="bench", name="s") as starter:
            inputs = {"n": list(range(BLOCKED))}
            await send(
                starter,
                type="process-start",
                goal="",
                workflow_id="fan",
                input=inputs,
            )
            await until(starter, "process-status", status="blocked")
        return await first_call(brain, token, watcher)


async def first_call(
    brain: ServedBrain, token: str, watcher: WebSocketConnection
) -> tuple[float, float]:
    longest = 0.0
    began = time.perf_counter()

    async def watch() -> None:
        nonlocal longest
        while True:
            asked = time.perf_counter()
            await send(watcher, type="session-list", id="s")
            await until(watcher, "session-list")
            longest = max(longest, time.perf_counter() - asked)
            await trio.sleep(0.001)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch)
        await trio.sleep(0.2)
        longest = 0.0
        began = time.perf_counter()
        async with connected(brain, token, "probe", name="p") as ws:
            await until(ws, "tool-request")
            first = time.perf_counter() - began
            await trio.sleep(2)
        nursery.cancel_scope.cancel()
    return first, longest


def requeue(rounds: int) -> None:
    firsts, longest = [], []
    for _ in range(rounds):
        with served({"fan": FAN.replace("TOOL", "probe")}) as brain:
            token = brain.token()
            run(teach, brain, token)
            first, stall = run(requeue_once, (brain, token))
            firsts.append(first)
            longest.append(stall)
    print(
        f"requeue of {BLOCKED}: first call after {statistics.median(firsts) * 1000:.0f}"
        f" ms, handshake included (goal 100); longest answer to another client"
        f" {max(longest) * 1000:.0f} ms (goal 50)"
    )


async def teach(brain: ServedBrain, token: str) -> None:
    """Offer the tool once, so that it is known while it is away."""
    async with connected(brain, token, "probe", name="p"):
        pass


async def noops(token_of: "tuple[ServedBrain, str]") -> float:
    brain, token = token_of
    async with connected(brain, token, project="bench") as ws:
        began = time.perf_counter()
        await send(
            ws,
            type="process-start",
            goal="",
            workflow_id="fan",
            input={"n": list(range(NOOPS))},
        )
        await until(ws, "process-status", status="done")
        return NOOPS / (time.perf_counter() - began)


def tasks(rounds: int) -> None:
    with served({"fan": FAN.replace("TOOL", "now")}) as brain:
        token = brain.token()
        rates = [run(noops, (brain, token)) for _ in range(rounds)]
    print(f"durable no-op tasks: {statistics.median(rates):.0f} a second (goal 1000)")


ALL: Final = {
    "ready": ready,
    "roundtrip": roundtrip,
    "requeue": requeue,
    "tasks": tasks,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="*", choices=[[], *ALL], default=[])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--relay", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.relay:
        trio.run(relay_server)
        return
    for name in options.what or ALL:
        ALL[name](options.rounds)


if __name__ == "__main__":
    main()
