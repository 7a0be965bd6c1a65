"""The client that stays connected: requests, sessions, news."""

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager

import attrs
import pytest
import trio

from tests.sdk.fake_brain import TOKEN, FakeBrain, MemoryNet, lowest
from vance_sdk.client import Client, open_client
from vance_sdk.errors import (
    BadAddress,
    BrainRefused,
    ConnectionLost,
    NotConnected,
    NotEnded,
    ProcessFailed,
    Timeout,
    UnexpectedAnswer,
)
from vance_sdk.local_tool import LocalTool
from vance_sdk.wire.limits import CloseCode
from vance_sdk.wire.messages import (
    Ack,
    Chat,
    ChatReply,
    ClientConnected,
    Error,
    InboxList,
    InboxListQuery,
    MemoryAdd,
    MemoryLink,
    Notification,
    ProcessContinue,
    ProcessGetQuery,
    ProcessStart,
    ProcessStatus,
    ProcessSteer,
    SequenceAck,
    SessionCreated,
    SessionList,
    SessionListQuery,
    SessionOpened,
    SessionResumed,
    TaskApprove,
    TaskCancel,
    TaskMove,
    TaskRerun,
    TaskUpdate,
)

Clock = trio.testing.MockClock


def client_of(
    net: MemoryNet,
    *,
    tools: Iterable[LocalTool] = (),
    project_id: str | None = None,
) -> AbstractAsyncContextManager[Client]:
    return open_client(
        net.brain.url,
        token=TOKEN,
        connect=net.connect,
        uniform=lowest,
        tools=tools,
        project_id=project_id,
    )


@pytest.mark.requirement("003-2.2-resume", "003-2.1-reconnect")
async def test_a_dropped_client_resumes_its_session_as_the_same_client(
    brain: FakeBrain,
) -> None:
    opened: list[SessionOpened] = []

    async with open_client(
        brain.url, token=TOKEN, project_id="proj_5", on_connected=opened.append
    ) as client:
        await client.wait_connected()
        await brain.drop()
        await brain.connections(2)
        await client.processes()

    first, second = brain.handshakes
    assert [type(answer) for answer in opened] == [SessionCreated, SessionResumed]
    assert first.session is not None
    assert first.session.project_id == "proj_5"
    assert second.session is not None
    assert second.session.resume == "sess_1"
    assert first.client.client_id == second.client.client_id
    assert (first.client.client_id or "").startswith("cl_")
    assert first.client.boot_id == second.client.boot_id
    # There is no durable journal yet, and none is claimed.
    assert first.client.journal_id is None


async def test_missed_news_comes_after_a_resume_and_is_acknowledged(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    brain = net.brain
    async with client_of(net) as client:
        await client.wait_connected()
        async with client.events() as stream:
            await brain.push(Notification(level="info", message="1"))
            await trio.sleep(1)
            net.reachable = False
            await brain.drop()
            brain.sessions["sess_1"].seq = 2
            missed = Notification(level="info", message="2", seq=2)
            brain.sessions["sess_1"].log.append(missed)
            net.reachable = True
            frames = [await anext(stream) for _ in range(3)]
            await trio.sleep(1)

    assert [type(frame) for frame in frames] == [
        Notification,
        SessionResumed,
        Notification,
    ]
    assert frames[2] == missed
    choice = brain.handshakes[1].session
    assert choice is not None
    assert choice.last_seq == 1
    acks = brain.received(SequenceAck)
    assert [ack.seq for ack in acks if isinstance(ack, SequenceAck)] == [1, 2]


@pytest.mark.parametrize("how", ["not_found", "closed"])
async def test_a_session_that_is_gone_is_followed_by_a_new_one(
    net: MemoryNet, autojump_clock: Clock, how: str
) -> None:
    brain = net.brain
    async with client_of(net, project_id="proj_5") as client:
        await client.wait_connected()
        del brain.sessions["sess_1"]
        if how == "closed":
            await net.pipes[0].close(CloseCode.SESSION_GONE, "gone")
        else:
            await net.pipes[0].drop()
        await client.start("goes on")

        assert client.session_id == "sess_2"
    last = brain.handshakes[-1].session
    assert last is not None
    assert (last.resume, last.project_id) == (None, "proj_5")


async def test_a_project_that_is_unknown_stops_the_client(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    error = Error(code="not_found", message="no such project")
    net.brain.refusal = (error, CloseCode.FORBIDDEN)

    async with client_of(net, project_id="proj_9") as client:
        with pytest.raises(Exception, match="no such project"):
            await client.wait_stopped()


def test_a_bad_address_is_refused_at_once() -> None:
    async def main() -> None:
        async with open_client("ftp://host", token=TOKEN):
            raise NotImplementedError

    with pytest.raises(BadAddress):
        trio.run(main)


# ------------------------------------------------------------------- requests


@pytest.mark.requirement("003-2.3-process-start")
async def test_a_process_start_cut_off_is_made_again_and_starts_one_process(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    # The Brain commits it, then the connection drops before the answer.
    net.brain.drops_on.add("process-start")

    async with client_of(net) as client:
        process_id = await client.start("once only", recipe="quick", autonomous=True)

    first, second = net.brain.received(ProcessStart)
    assert isinstance(first, ProcessStart)
    assert isinstance(second, ProcessStart)
    assert first.idempotency_key == second.idempotency_key is not None
    assert (first.recipe, first.autonomous) == ("quick", True)
    assert list(net.brain.processes) == [process_id]


async def test_a_process_start_of_ones_own_making_gets_a_key_too(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    net.brain.drops_on.add("process-start")

    async with client_of(net) as client:
        await client.request(ProcessStart(goal="once only"))

    assert len(net.brain.processes) == 1


async def test_what_is_not_safe_to_repeat_is_not_repeated(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    net.brain.drops_on.add("process-steer")

    async with client_of(net) as client:
        process_id = await client.start("goal")
        with pytest.raises(ConnectionLost) as lost:
            await client.steer(process_id, "news")
        await client.processes()

    assert lost.value.sent
    assert len(net.brain.received(ProcessSteer)) == 1


async def test_a_request_waits_for_a_connection_no_longer_than_its_timeout(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    net.reachable = False

    async with client_of(net) as client:
        began = trio.current_time()
        with pytest.raises(Timeout, match="nobody listens"):
            await client.processes()
        waited = trio.current_time() - began

        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.processes)
            await trio.sleep(5)
            net.reachable = True

    assert 30 <= waited < 31


async def test_requests_during_the_end_of_a_connection_do_not_spin(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    # Fails by hanging if a lost connection is asked again without waiting.
    async with client_of(net) as client:
        await client.wait_connected()
        await net.brain.drop()
        for _ in range(5):
            await client.processes()


async def test_errors_and_wrong_answers_are_told_apart(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    net.brain.errors["why"] = Notification(level="x", message="y")  # type: ignore[assignment]

    async with client_of(net) as client:
        with pytest.raises(BrainRefused, match="no workflow wf_9"):
            await client.start("goal", "wf_9")
        with pytest.raises(UnexpectedAnswer, match="answered with notification"):
            await client.why("task_1")


async def test_after_the_end_everything_says_so(net: MemoryNet) -> None:
    async with client_of(net) as client:
        await client.wait_connected()

    with pytest.raises(NotConnected):
        await client.processes()
    with pytest.raises(NotConnected):
        await client.wait_stopped()
    assert [frame.TYPE for frame in net.brain.frames] == ["disconnect"]


async def test_disconnect_stays_away(net: MemoryNet, autojump_clock: Clock) -> None:
    async with client_of(net) as client:
        await client.wait_connected()
        await client.disconnect()
        await trio.sleep(100)

    assert len(net.attempts) == 1


async def test_disconnect_stops_a_connection_on_its_way(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    net.connect_s = 5

    async with client_of(net) as client:
        await trio.sleep(1)
        await client.disconnect()
        await trio.sleep(100)

    assert net.attempts == []


async def test_an_exception_in_the_block_ends_the_client_without_a_group(
    net: MemoryNet,
) -> None:
    with pytest.raises(KeyError, match="mine"):
        async with client_of(net):
            raise KeyError("mine")


@pytest.mark.requirement("003-2.3-not-built-yet")
async def test_a_brain_without_memory_says_so(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    async with client_of(net) as client:
        entity = MemoryAdd(entity_type="document", title="A paper", content="text")
        with pytest.raises(BrainRefused) as refused:
            await client.memory_add(entity)
        with pytest.raises(BrainRefused):
            await client.memory_search("papers", tags=["2026"], limit=3)

    assert refused.value.code == "unavailable"
    assert refused.value.context["fix"]


# -------------------------------------------------------------------- waiting


@pytest.mark.requirement("003-7-wait-for-result")
async def test_wait_returns_the_result_that_is_pushed(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    async with client_of(net) as client:
        process_id = await client.start("goal")
        with pytest.raises(NotEnded, match="running"):
            await client.result(process_id)
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def finish() -> None:
                await net.brain.until(2, ProcessGetQuery)
                await trio.sleep(1)
                await net.brain.finish(process_id, {"n": 1})

            began = trio.current_time()
            assert await client.wait(process_id, timeout=300) == {"n": 1}
            assert trio.current_time() - began < 2
        assert await client.result(process_id) == {"n": 1}


@pytest.mark.parametrize("status", ["failed", "stopped"])
async def test_a_process_without_success_raises_with_its_partial_result(
    net: MemoryNet, autojump_clock: Clock, status: str
) -> None:
    async with client_of(net) as client:
        process_id = await client.start("goal")
        await net.brain.finish(process_id, ["half"], status=status)
        with pytest.raises(ProcessFailed) as failed:
            await client.wait(process_id)

    assert failed.value.process_id == process_id
    assert failed.value.status == status
    assert failed.value.result == ["half"]


@pytest.mark.parametrize("away_s", [2, 120])
async def test_an_end_that_came_while_away_is_found_after_the_reconnect(
    net: MemoryNet, autojump_clock: Clock, away_s: int
) -> None:
    async with client_of(net) as client:
        process_id = await client.start("goal")
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def away() -> None:
                await net.brain.until(1, ProcessGetQuery)
                net.reachable = False
                await net.brain.drop()
                net.brain.processes[process_id].status = "done"
                await trio.sleep(away_s)
                net.reachable = True

            began = trio.current_time()
            assert await client.wait(process_id) is None
            assert away_s <= trio.current_time() - began < away_s + 1


async def test_an_end_that_is_never_pushed_is_found_by_asking(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    async with client_of(net) as client:
        process_id = await client.start("goal")
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def end_quietly() -> None:
                await net.brain.until(1, ProcessGetQuery)
                net.brain.processes[process_id].status = "done"

            with trio.fail_after(20):
                await client.wait(process_id)


async def test_wait_is_bounded(net: MemoryNet, autojump_clock: Clock) -> None:
    async with client_of(net) as client:
        process_id = await client.start("goal")
        began = trio.current_time()
        with pytest.raises(Timeout, match="goes on after 50 s"):
            await client.wait(process_id, timeout=50)

        assert 50 <= trio.current_time() - began < 51


async def test_wait_works_with_a_brain_that_knows_the_seed_only(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    net.brain.errors["process-get"] = Error(code="unknown_type", message="process-get")

    async with client_of(net) as client:
        process_id = await client.start("goal")
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def finish() -> None:
                await net.brain.until(1, ProcessGetQuery)
                await net.brain.finish(process_id, "text")

            assert await client.wait(process_id) == "text"


async def test_wait_ends_when_the_client_does(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    # Fails by hanging if the end of the stream is taken for news.
    async with client_of(net) as client:
        process_id = await client.start("goal")
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def leave() -> None:
                await net.brain.until(1, ProcessGetQuery)
                await client.disconnect()

            with pytest.raises(NotConnected):
                await client.wait(process_id)


# ---------------------------------------------------------------------- tools


def tool(name: str) -> LocalTool:
    return LocalTool(name=name, run=lambda args: None)


@pytest.mark.requirement("003-3.4-robot-brings-tools")
async def test_tools_may_come_and_go_and_are_offered_with_each_connection(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    brain = net.brain
    async with client_of(net, tools=[tool("a")]) as client:
        await client.wait_connected()
        await client.offer(tool("b"), tool("c"))
        assert [offered.name for offered in brain.tools] == ["a", "b", "c"]
        await client.withdraw("a")
        assert [offered.name for offered in brain.tools] == ["b", "c"]
        net.reachable = False
        await brain.drop()
        await trio.sleep(1)
        await client.offer(tool("d"))
        net.reachable = True
        await client.processes()

    assert len(brain.received(ClientConnected)) == 2
    assert [offered.name for offered in brain.handshakes[1].client.tools] == [
        "b",
        "c",
        "d",
    ]
    assert all(offered.digest for offered in brain.handshakes[1].client.tools)


# ---------------------------------------------------------- the other commands


async def test_commands_about_tasks_and_people_are_sent_as_the_protocol_says(
    net: MemoryNet, autojump_clock: Clock
) -> None:
    update = TaskUpdate(task_id="task_1", status="pending")
    for kind in (TaskCancel, TaskRerun, TaskMove, TaskApprove):
        net.brain.errors[kind.TYPE] = update  # type: ignore[assignment]
    net.brain.errors["process-continue"] = ProcessStatus(  # type: ignore[assignment]
        think_process_id="tp_1", status="running"
    )
    net.brain.errors["chat"] = ChatReply(message="Hello")  # type: ignore[assignment]
    net.brain.errors["memory-link"] = Ack(entity_id="rel_1")  # type: ignore[assignment]
    net.brain.errors["inbox-list"] = InboxList(items=())  # type: ignore[assignment]
    net.brain.errors["session-list"] = SessionList(sessions=())  # type: ignore[assignment]

    async with client_of(net) as client:
        assert await client.cancel_task("task_1") == attrs.evolve(update, reply_to="c0")
        await client.rerun_task("task_1")
        await client.move_task("task_1", "task_2")
        await client.approve("task_1", approved=False, decision="reject", note="no")
        assert await client.resume("tp_1") == "running"
        assert await client.chat("Hi") == "Hello"
        assert await client.memory_link("a", "b", "cites") == "rel_1"
        assert await client.inbox("proj_5") == []
        assert await client.sessions() == []

    sent = [attrs.evolve(frame, id=None) for frame in net.brain.frames[:-1]]
    assert sent == [
        TaskCancel(task_id="task_1"),
        TaskRerun(task_id="task_1"),
        TaskMove(task_id="task_1", before_task_id="task_2"),
        TaskApprove(task_id="task_1", approved=False, decision="reject", note="no"),
        ProcessContinue(think_process_id="tp_1"),
        Chat(message="Hi"),
        MemoryLink(source_id="a", target_id="b", relation_type="cites"),
        InboxListQuery(project_id="proj_5"),
        SessionListQuery(),
    ]
