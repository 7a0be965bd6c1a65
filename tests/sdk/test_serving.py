"""Calls of local tools (PROTOCOL.md section 3)."""

import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
import trio

from tests.sdk.fake_brain import TOKEN, FakeBrain, MemoryNet, lowest
from vance_sdk.calls import current_call
from vance_sdk.client import Client, open_client
from vance_sdk.errors import ToolFailed
from vance_sdk.local_tool import LocalTool, tool_from_function
from vance_sdk.wire.messages import (
    Error,
    Json,
    ToolAccepted,
    ToolCancel,
    ToolCancelAck,
    ToolError,
    ToolProgress,
    ToolResult,
    ToolResultAck,
    Verdict,
)

Clock = trio.testing.MockClock


class Gate:
    """A tool that counts its runs and ends when it may."""

    def __init__(self) -> None:
        self.runs = 0
        self.open = trio.Event()

    async def __call__(self, args: dict[str, Json]) -> Json:
        self.runs += 1
        await self.open.wait()
        return {"run": self.runs}

    def tool(self) -> LocalTool:
        return LocalTool(name="gate", run=self)


@asynccontextmanager
async def serving(
    net: MemoryNet, *tools: LocalTool, **kw: object
) -> AsyncIterator[Client]:
    async with open_client(
        net.brain.url,
        token=TOKEN,
        connect=net.connect,
        tools=tools,
        **{"uniform": lowest, **kw},  # type: ignore[arg-type]
    ) as client:
        await client.wait_connected()
        yield client


async def results(brain: FakeBrain, count: int = 1) -> list[ToolResult]:
    frames = await brain.until(count, ToolResult)
    return [frame for frame in frames if isinstance(frame, ToolResult)]


async def outcome(brain: FakeBrain) -> tuple[str, str]:
    """Return code and message of the one error."""
    [result] = await results(brain)
    assert isinstance(result.error, ToolError)
    return result.error.code, result.error.message


@pytest.mark.requirement("003-2.3-tool-request")
@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_call_is_accepted_then_answered_once(
    brain: FakeBrain, kind: str
) -> None:
    threads: list[threading.Thread] = []

    def inspect(container: str) -> dict[str, str]:
        threads.append(threading.current_thread())
        return {"container": container, "call": current_call().request_id}

    async def inspect_async(container: str) -> dict[str, str]:
        return inspect(container)

    function: Callable[..., object] = inspect if kind == "sync" else inspect_async
    tool = tool_from_function(function, name="docker_inspect")
    async with open_client(brain.url, token=TOKEN, tools=[tool]) as client:
        await client.wait_connected()
        await brain.request("docker_inspect", {"container": "app"})
        [result] = await results(brain)
        await client.processes()

    about = [f for f in brain.frames if isinstance(f, ToolAccepted | ToolResult)]
    assert [type(frame) for frame in about] == [ToolAccepted, ToolResult]
    assert result.result == {"container": "app", "call": "call_1"}
    assert result.error is None
    assert isinstance(about[0], ToolAccepted)
    assert about[0].boot_id == brain.handshakes[0].client.boot_id
    # The event loop never runs what may block.
    assert (threads[0] is threading.current_thread()) is (kind == "async")


async def test_calls_run_at_the_same_time_up_to_the_window(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    gate = Gate()

    async with serving(net, gate.tool()):
        for number in range(20):
            await net.brain.request("gate", request_id=f"call_{number}")
        await net.brain.until(16, ToolAccepted)
        await trio.sleep(1)
        at_once = gate.runs
        gate.open.set()
        ended = await results(net.brain, 20)

    assert at_once == 16
    assert {result.request_id for result in ended} == {f"call_{n}" for n in range(20)}


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ValueError("no such file"), "failed", "ValueError: no such file"),
        (SystemExit(3), "failed", "SystemExit: 3"),
        (ExceptionGroup("two", [ValueError("a")]), "failed", "ExceptionGroup: two"),
        (ToolFailed("not allowed", code="rejected"), "rejected", "not allowed"),
        (ValueError("lone \ud800"), "failed", "ValueError: lone ?"),
    ],
)
async def test_what_a_tool_raises_is_its_answer_and_the_client_goes_on(
    net: MemoryNet,
    autojump_clock: Clock,
    error: BaseException,
    code: str,
    message: str,
) -> None:
    async def fail(args: dict[str, Json]) -> None:
        raise error

    async with serving(net, LocalTool(name="fail", run=fail)) as client:
        await net.brain.request("fail")
        found = await outcome(net.brain)
        await client.processes()

    assert found[0] == code
    assert found[1].startswith(message)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({1, 2}, "cannot be written as JSON"),
        ({"a": "\ud800"}, "cannot be written as JSON"),
    ],
)
async def test_a_result_no_frame_can_carry_is_a_failure_that_says_why(
    net: MemoryNet, autojump_clock: Clock, value: object, message: str
) -> None:
    async def give(args: dict[str, Json]) -> object:
        return value

    async with serving(net, LocalTool(name="give", run=give)):
        await net.brain.request("give")
        code, text = await outcome(net.brain)

    assert code == "failed"
    assert message in text


@pytest.mark.parametrize(
    "value", ["x" * 300_000, ["x" * 300_000], {"text": "x" * 2_000_000}]
)
async def test_a_result_too_long_for_a_frame_is_cut_and_says_so(
    net: MemoryNet, autojump_clock: Clock, value: Json
) -> None:
    async def give(args: dict[str, Json]) -> Json:
        return value

    async with serving(net, LocalTool(name="give", run=give)) as client:
        await net.brain.request("give")
        [result] = await results(net.brain)
        await client.processes()

    assert result.error is None
    assert isinstance(result.result, dict)
    assert result.result["truncated"] is True


async def test_a_result_too_deep_for_a_frame_is_a_failure(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    deep: Json = None
    for _ in range(70):
        deep = [deep]

    async def give(args: dict[str, Json]) -> Json:
        return deep

    async with serving(net, LocalTool(name="give", run=give)):
        await net.brain.request("give")

        assert "levels of nesting" in (await outcome(net.brain))[1]


async def test_a_tool_that_is_not_here_is_rejected(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    async with serving(net):
        await net.brain.request("rm_rf")

        code, message = await outcome(net.brain)

    assert (code, message) == ("rejected", "this client has no tool 'rm_rf'")
    assert net.brain.received(ToolAccepted) == []


# ----------------------------------------------------------- the same id again


@pytest.mark.requirement("003-2.3-tool-result")
async def test_a_result_is_kept_and_sent_again_until_it_is_acknowledged(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    gate, brain = Gate(), net.brain
    brain.acks_results = False

    async with serving(net, gate.tool()) as client:
        await brain.request("gate")
        gate.open.set()
        [first] = await results(brain, 1)
        await brain.drop()
        again = await results(brain, 2)
        assert again == [first, first]

        await brain.push(ToolResultAck(request_id="call_1"), durable=False)
        await trio.sleep(1)
        await brain.drop()
        await trio.sleep(1)
        await client.processes()

    assert len(brain.received(ToolResult)) == 2
    assert gate.runs == 1
    inflight = brain.handshakes[1].inflight
    assert inflight is not None
    assert [(call.request_id, call.state) for call in inflight] == [("call_1", "done")]
    assert brain.handshakes[2].inflight is None


@pytest.mark.parametrize("code", ["not_found", "bad_message", "forbidden"])
async def test_a_result_the_brain_does_not_want_is_forgotten(
    net: MemoryNet, autojump_clock: Clock, code: str
) -> None:
    gate, brain = Gate(), net.brain
    gate.open.set()
    brain.errors["tool-result"] = Error(code=code, message="not yours")

    async with serving(net, gate.tool()) as client:
        await brain.request("gate")
        await results(brain, 1)
        await trio.sleep(60)
        await brain.drop()
        await trio.sleep(1)
        await client.processes()

    assert len(brain.received(ToolResult)) == 1


async def test_a_result_ready_while_away_is_sent_once_after_the_reconnect(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    gate, brain = Gate(), net.brain

    async with serving(net, gate.tool()):
        await brain.request("gate")
        await brain.until(1, ToolAccepted)
        net.reachable = False
        await brain.drop()
        gate.open.set()
        await trio.sleep(10)
        net.reachable = True
        await results(brain, 1)
        await trio.sleep(10)

    assert len(brain.received(ToolResult)) == 1
    assert gate.runs == 1


async def test_a_call_that_runs_is_joined_by_the_same_call(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    gate, brain = Gate(), net.brain

    async with serving(net, gate.tool()):
        await brain.request("gate")
        await brain.until(1, ToolAccepted)
        await brain.drop()
        await brain.connections(2)
        await brain.request("gate")
        await brain.until(2, ToolAccepted)
        gate.open.set()
        await results(brain, 1)
        await trio.sleep(1)

    assert gate.runs == 1
    assert len(brain.received(ToolResult)) == 1
    inflight = brain.handshakes[1].inflight
    assert inflight is not None
    assert inflight[0].state == "running"


async def test_a_call_that_is_done_is_answered_again_without_running(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    gate, brain = Gate(), net.brain
    brain.acks_results = False
    gate.open.set()

    async with serving(net, gate.tool()):
        await brain.request("gate")
        await results(brain, 1)
        await brain.request("gate")
        first, second = await results(brain, 2)

    assert first == second
    assert gate.runs == 1


async def test_an_acknowledged_call_is_not_run_again_but_unknown(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    gate, brain = Gate(), net.brain
    gate.open.set()

    async with serving(net, gate.tool()):
        await brain.request("gate")
        await results(brain, 1)
        await trio.sleep(1)
        await brain.request("gate")
        _, second = await results(brain, 2)

    assert isinstance(second.error, ToolError)
    assert second.error.code == "outcome_unknown"
    assert gate.runs == 1


@pytest.mark.parametrize("when", ["running", "done"])
async def test_the_same_id_with_other_arguments_is_rejected(
    net: MemoryNet, autojump_clock: Clock, when: str
) -> None:
    gate, brain = Gate(), net.brain
    brain.acks_results = False

    async with serving(net, gate.tool()):
        await brain.request("gate", {"path": "a"})
        await brain.until(1, ToolAccepted)
        if when == "done":
            gate.open.set()
            await results(brain, 1)
        await brain.request("gate", {"path": "b"})
        rejected = (await results(brain, 2 if when == "done" else 1))[-1]

    assert isinstance(rejected.error, ToolError)
    assert rejected.error.code == "rejected"
    assert gate.runs == 1


@pytest.mark.parametrize(
    ("do", "sent_again"), [("send_result", 1), ("continue", 0), ("forget", 0)]
)
async def test_the_brains_verdict_decides_about_a_kept_result(
    net: MemoryNet, autojump_clock: Clock, do: str, sent_again: int
) -> None:
    gate, brain = Gate(), net.brain
    brain.acks_results = False
    gate.open.set()

    async with serving(net, gate.tool()):
        await brain.request("gate")
        await results(brain, 1)
        brain.verdicts = (Verdict(request_id="call_1", do=do),)  # type: ignore[arg-type]
        await brain.drop()
        await brain.connections(2)
        await trio.sleep(1)

    assert len(brain.received(ToolResult)) == 1 + sent_again


# --------------------------------------------------------------------- cancel


async def test_a_cancelled_async_tool_is_stopped_and_answered_once(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    gate, brain = Gate(), net.brain

    async with serving(net, gate.tool()):
        await brain.request("gate")
        await brain.until(1, ToolAccepted)
        await brain.push(ToolCancel(request_id="call_1"), durable=False)
        code, message = await outcome(brain)
        await trio.sleep(5)

    assert (code, message) == ("cancelled", "cancelled while it ran")
    assert len(brain.received(ToolResult)) == 1
    [ack] = brain.received(ToolCancelAck)
    assert isinstance(ack, ToolCancelAck)
    assert ack.state == "stopping"


async def test_a_tool_in_a_thread_sees_the_cancel_and_is_answered_when_it_ends(
    brain: FakeBrain,
) -> None:
    started, go_on, saw = threading.Event(), threading.Event(), list[bool]()

    def work(args: dict[str, Json]) -> str:
        started.set()
        assert go_on.wait(10)
        saw.append(current_call().cancelled)
        return "too late"

    tool = LocalTool(name="work", run=work)
    async with open_client(brain.url, token=TOKEN, tools=[tool]) as client:
        await client.wait_connected()
        await brain.request("work")
        await trio.to_thread.run_sync(started.wait)
        await brain.push(ToolCancel(request_id="call_1"), durable=False)
        await brain.until(1, ToolCancelAck)
        assert brain.received(ToolResult) == []
        go_on.set()
        code, message = await outcome(brain)

    assert saw == [True]
    assert (code, message) == ("cancelled", "cancelled, but it ran to its end")


async def test_a_cancel_that_overtakes_its_call_keeps_it_from_running(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    gate, brain = Gate(), net.brain

    async with serving(net, gate.tool()):
        await brain.push(ToolCancel(request_id="call_1"), durable=False)
        await brain.until(1, ToolCancelAck)
        await brain.request("gate")
        code, _ = await outcome(brain)

    [ack] = brain.received(ToolCancelAck)
    assert isinstance(ack, ToolCancelAck)
    assert (ack.state, code, gate.runs) == ("unknown_request", "cancelled", 0)


async def test_a_waiting_call_that_is_cancelled_never_runs(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    gate, brain = Gate(), net.brain

    async with serving(net, gate.tool()):
        for number in range(17):
            await brain.request("gate", request_id=f"call_{number}")
        await brain.until(16, ToolAccepted)
        await brain.push(ToolCancel(request_id="call_16"), durable=False)
        code, message = await outcome(brain)

    assert (code, message) == ("cancelled", "cancelled before it began")
    assert gate.runs == 16


# ----------------------------------------------------------------------- time


async def test_progress_shows_that_a_call_is_alive_twice_an_interval(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    gate, brain = Gate(), net.brain

    async with serving(net, gate.tool()):
        await brain.request("gate", heartbeat_ms=10_000)
        await trio.sleep(31)
        beats = brain.received(ToolProgress)
        gate.open.set()
        await results(brain, 1)
        await trio.sleep(60)

    assert [beat.n for beat in beats if isinstance(beat, ToolProgress)] == [
        1,
        2,
        3,
        4,
        5,
        6,
    ]
    assert len(brain.received(ToolProgress)) == 6


async def test_what_a_tool_reports_is_shown_at_once(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    async def ask(args: dict[str, Json]) -> None:
        current_call().report({"step": 1}, asking=True)
        await trio.sleep(8)
        current_call().report({"step": 2}, asking=False)
        await trio.sleep(1)

    async with serving(net, LocalTool(name="ask", run=ask)):
        await net.brain.request("ask", run_within_ms=3000)
        [result] = await results(net.brain)

    shown = [
        (beat.details, beat.asking)
        for beat in net.brain.received(ToolProgress)
        if isinstance(beat, ToolProgress)
    ]
    assert shown == [({"step": 1}, True), ({"step": 2}, False)]
    # Asking stopped the clock: 9 s went by, of which 1 counts.
    assert result.error is None


async def test_an_async_tool_is_stopped_at_its_limit(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    gate, brain = Gate(), net.brain

    async with serving(net, gate.tool()):
        began = trio.current_time()
        await brain.request("gate", run_within_ms=5000)
        found = await outcome(brain)

    assert found == ("failed", "stopped after 5000 ms")
    assert 5 <= trio.current_time() - began < 8


@pytest.mark.parametrize(("within_ms", "runs"), [(4000, 16), (6000, 17)])
async def test_a_call_that_waits_too_long_expires_and_may_come_again(
    net: MemoryNet, autojump_clock: Clock, within_ms: int, runs: int
) -> None:
    gate, brain = Gate(), net.brain

    async with serving(net, gate.tool()):
        for number in range(16):
            await brain.request("gate", request_id=f"call_{number}")
        await brain.request("gate", request_id="late", start_within_ms=within_ms)
        await trio.sleep(5)
        gate.open.set()
        ended = await results(brain, 17)
        assert gate.runs == runs
        [late] = [result for result in ended if result.request_id == "late"]
        if runs == 16:
            assert isinstance(late.error, ToolError)
            assert late.error.code == "expired"
            await brain.request("gate", request_id="late", start_within_ms=within_ms)
            again = (await results(brain, 18))[-1]
            assert again.result == {"run": 17}


async def test_a_machine_that_slept_past_the_limit_runs_nothing(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    gate, brain, slept = Gate(), net.brain, [0.0]

    async with serving(net, gate.tool(), wall=lambda: slept[0]):
        for number in range(16):
            await brain.request("gate", request_id=f"call_{number}")
        await brain.request("gate", request_id="late", start_within_ms=20_000)
        await brain.until(16, ToolAccepted)
        slept[0] = 21.0
        gate.open.set()
        ended = await results(brain, 17)

    [late] = [result for result in ended if result.request_id == "late"]
    assert isinstance(late.error, ToolError)
    assert late.error.code == "expired"
    assert gate.runs == 16


async def test_a_call_that_has_not_begun_is_dropped_with_its_connection(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    gate, brain = Gate(), net.brain

    async with serving(net, gate.tool()):
        for number in range(17):
            await brain.request("gate", request_id=f"call_{number}")
        await brain.until(16, ToolAccepted)
        await brain.drop()
        await brain.connections(2)
        gate.open.set()
        await results(brain, 16)
        await trio.sleep(10)
        assert gate.runs == 16

        # The Brain may send it again, and then it runs.
        await brain.request("gate", request_id="call_16")
        await results(brain, 17)

    assert gate.runs == 17


async def test_leaving_does_not_wait_for_a_tool_in_a_thread(brain: FakeBrain) -> None:
    started, go_on = threading.Event(), threading.Event()

    def work(args: dict[str, Json]) -> None:
        started.set()
        go_on.wait(30)

    tool = LocalTool(name="work", run=work)
    with trio.fail_after(5):
        async with open_client(brain.url, token=TOKEN, tools=[tool]) as client:
            await client.wait_connected()
            await brain.request("work")
            await trio.to_thread.run_sync(started.wait)
    go_on.set()


async def test_a_flood_of_calls_is_bounded(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    gate, brain = Gate(), net.brain

    async with serving(net, gate.tool()):
        for number in range(300):
            await brain.request("gate", request_id=f"call_{number}")
        rejected = await results(brain, 300 - 256)
        await trio.sleep(1)

    assert len(brain.received(ToolResult)) == len(rejected) == 44
    assert {getattr(result.error, "code", "") for result in rejected} == {"rejected"}
