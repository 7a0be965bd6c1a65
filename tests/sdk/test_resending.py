"""Results that the Brain could not take when they came (PROTOCOL.md section 3, D1)."""

from itertools import pairwise

import pytest
import trio

from tests.sdk.fake_brain import FakeBrain, MemoryNet, highest, lowest
from tests.sdk.test_serving import Clock, Gate, results, serving
from vance_sdk.ledger import MemoryLedger
from vance_sdk.resending import Resender
from vance_sdk.wire.messages import Error, ToolResult, ToolResultAck


def full_disk(code: str = "unavailable") -> Error:
    return Error(code=code, message="the disk is full")


def opened_gate() -> Gate:
    gate = Gate()
    gate.open.set()
    return gate


def waits(brain: FakeBrain) -> list[float]:
    """Return the seconds from each result to the next."""
    times = [
        at
        for at, frame in zip(brain.frames_at, brain.frames, strict=True)
        if isinstance(frame, ToolResult)
    ]
    return [round(later - at, 3) for at, later in pairwise(times)]


def inflight(brain: FakeBrain, handshake: int) -> list[tuple[str, str]]:
    calls = brain.handshakes[handshake].inflight or ()
    return [(call.request_id, call.state) for call in calls]


@pytest.mark.parametrize("code", ["unavailable", "internal", "rate_limited"])
async def test_a_result_refused_for_now_is_sent_again_until_it_is_acknowledged(
    net: MemoryNet, autojump_clock: Clock, code: str
) -> None:
    gate, brain = opened_gate(), net.brain
    brain.errors_once["tool-result"] = [full_disk(code), full_disk(code)]

    async with serving(net, gate.tool()) as client:
        await brain.request("gate")
        first, second, third = await results(brain, 3)
        await trio.sleep(100)
        await brain.drop()
        await brain.connections(2)
        await client.processes()

    assert first == second == third
    assert waits(brain) == [0.5, 0.5]
    assert len(brain.received(ToolResult)) == 3
    assert inflight(brain, 1) == []
    assert gate.runs == 1


async def test_the_waits_double_up_to_a_bound(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    gate, brain = opened_gate(), net.brain
    brain.errors["tool-result"] = full_disk()

    async with serving(net, gate.tool(), uniform=highest):
        await brain.request("gate")
        await trio.sleep(130)

    assert waits(brain) == [1, 2, 4, 8, 16, 30, 30, 30]
    assert gate.runs == 1


async def test_a_connection_lost_during_a_wait_sends_the_result_with_the_next(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    gate, brain = opened_gate(), net.brain
    brain.errors_once["tool-result"] = [full_disk()]
    brain.acks_results = False

    async with serving(net, gate.tool(), uniform=highest):
        await brain.request("gate")
        await results(brain, 1)
        await trio.sleep(0.5)
        await brain.drop()
        first, second = await results(brain, 2)
        # Nothing is left of the wait that belonged to the lost connection.
        await trio.sleep(60)

    assert first == second
    assert waits(brain) == [0.6]
    assert inflight(brain, 1) == [("call_1", "done")]
    assert gate.runs == 1


async def test_a_result_refused_before_and_after_a_long_absence_still_arrives(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    gate, brain = opened_gate(), net.brain
    brain.errors_once["tool-result"] = [full_disk(), full_disk()]

    async with serving(net, gate.tool()) as client:
        await brain.request("gate")
        await results(brain, 1)
        net.reachable = False
        await brain.drop()
        await trio.sleep(20)
        away = len(brain.received(ToolResult))
        net.reachable = True
        first, second, third = await results(brain, 3)
        await trio.sleep(60)
        await brain.drop()
        await brain.connections(3)
        await client.processes()

    assert away == 1
    assert first == second == third
    assert waits(brain)[1] == 0.5
    assert len(brain.received(ToolResult)) == 3
    assert inflight(brain, 1) == [("call_1", "done")]
    assert inflight(brain, 2) == []
    assert gate.runs == 1


async def test_a_new_connection_waits_as_short_as_the_first(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    gate, brain = opened_gate(), net.brain
    brain.errors["tool-result"] = full_disk()

    async with serving(net, gate.tool(), uniform=highest):
        await brain.request("gate")
        await results(brain, 4)
        await brain.drop()
        await results(brain, 6)

    assert waits(brain) == [1, 2, 4, 0.1, 1]


async def test_an_acknowledgement_ends_the_wait(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    gate, brain = opened_gate(), net.brain
    brain.errors_once["tool-result"] = [full_disk()]

    async with serving(net, gate.tool()) as client:
        await brain.request("gate")
        await results(brain, 1)
        await trio.sleep(0.1)
        resender = client._server._resender
        waiting = list(resender._waits)
        await brain.push(ToolResultAck(request_id="call_1"), durable=False)
        await trio.sleep(0.1)
        left = [*resender._waits, *resender._refusals]
        await trio.sleep(60)

    assert (waiting, left) == (["call_1"], [])
    assert len(brain.received(ToolResult)) == 1


async def test_a_result_refused_twice_at_once_has_one_wait(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    gate, brain = opened_gate(), net.brain
    brain.errors_once["tool-result"] = [full_disk(), full_disk()]
    brain.acks_results = False

    async with serving(net, gate.tool()):
        await brain.request("gate")
        await results(brain, 1)
        await trio.sleep(0.1)
        # Answered at once, by what is kept, and refused as well.
        await brain.request("gate")
        await trio.sleep(60)

    assert waits(brain) == [0.1, 0.4]
    assert gate.runs == 1


async def test_each_result_has_its_own_wait(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    gate, brain = opened_gate(), net.brain
    brain.errors_once["tool-result"] = [full_disk() for _ in range(5)]

    async with serving(net, gate.tool()):
        for number in range(5):
            await brain.request("gate", request_id=f"call_{number}")
        sent = await results(brain, 10)
        await trio.sleep(60)

    assert len(brain.received(ToolResult)) == 10
    for few in (sent[:5], sent[5:]):
        assert {result.request_id for result in few} == {
            f"call_{number}" for number in range(5)
        }
    assert gate.runs == 5


# Seen to fail without the look into the ledger, and without `settled`.
async def test_nothing_is_remembered_of_what_is_settled_or_unknown(
    nursery: trio.Nursery, autojump_clock: Clock
) -> None:
    ledger, sent = MemoryLedger(), list[ToolResult]()

    async def send(result: ToolResult) -> None:
        sent.append(result)

    resender = Resender(ledger=ledger, send=send, nursery=nursery, uniform=lowest)
    await ledger.accept("call_1", "digest")
    await ledger.finish(ToolResult(request_id="call_1", result=1))

    resender.refused("call_1")
    resender.refused("call_2")
    await trio.sleep(1)
    resender.refused("call_1")
    resender.settled("call_1")
    resender.settled("call_3")
    await trio.sleep(60)

    assert [result.request_id for result in sent] == ["call_1"]
    assert (resender._waits, resender._refusals) == ({}, {})


async def test_an_answer_that_no_run_stands_behind_is_not_sent_again(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    brain = net.brain
    brain.errors["tool-result"] = full_disk()

    async with serving(net):
        await brain.request("not_here")
        await results(brain, 1)
        # Nothing ran, so the Brain may ask again; nobody has to remember it.
        await trio.sleep(60)

    assert len(brain.received(ToolResult)) == 1
