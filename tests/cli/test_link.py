"""Questions, lists of several frames, and following a process, over one connection."""

import itertools
from collections.abc import AsyncIterator

import attrs
import pytest
import trio
from trio.testing import MockClock

from tests.sdk.fake_brain import TOKEN, FakeBrain, MemoryNet
from vance_sdk.connection import open_connection
from vance_sdk.errors import BrainRefused, ConnectionLost, Timeout, UnexpectedAnswer
from vance_sdk.wire.messages import (
    ClientInfo,
    Error,
    Inbound,
    ProcessStatus,
    TaskList,
    TaskListQuery,
    TaskRow,
    TaskUpdate,
    Why,
    WhyQuery,
)
from vancetope.cli.board import Board
from vancetope.cli.follow import Follower
from vancetope.cli.link import Link


@pytest.fixture
def net(nursery: trio.Nursery) -> MemoryNet:
    """A Brain that leaves questions about tasks to the test."""
    brain = FakeBrain(ignored={"task-list"})
    return MemoryNet(brain, nursery)


@pytest.fixture
async def link(net: MemoryNet, nursery: trio.Nursery) -> AsyncIterator[Link]:
    link = Link()
    async with open_connection(
        net.brain.url,
        token=TOKEN,
        client=ClientInfo(),
        connect=net.connect,
        on_frame=link.take,
    ) as connection:
        link.connection = connection
        nursery.start_soon(link.close_with_connection)
        yield link


def row(key: str, status: str) -> TaskRow:
    return TaskRow(
        task_id=f"task_{key}", key=key, goal="", status=status, depends_on=()
    )


def listed(*rows: TaskRow, to: Inbound, more: bool | None = None) -> TaskList:
    return TaskList(think_process_id="tp_1", tasks=rows, more=more, reply_to=to.id)


async def test_a_list_of_several_frames_is_gathered_whole(
    net: MemoryNet, link: Link, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    async def answer() -> None:
        (query,) = await net.brain.until(1, TaskListQuery)
        # All at once: none may be lost between the first and the asker's waking up.
        for key, more in (("a", True), ("b", True), ("c", None)):
            page = listed(row(key, "done"), to=query, more=more)
            await net.brain.push(page, durable=False)

    nursery.start_soon(answer)
    whole = await link.ask(TaskListQuery(think_process_id="tp_1"), TaskList)

    assert [task.key for task in whole.tasks] == ["a", "b", "c"]
    assert whole.more is None


async def test_a_refused_list_is_refused(
    net: MemoryNet, link: Link, autojump_clock: MockClock
) -> None:
    net.brain.ignored.clear()
    net.brain.errors["task-list"] = Error(code="not_found", message="No process")

    with pytest.raises(BrainRefused, match="No process"):
        await link.ask(TaskListQuery(think_process_id="tp_1"), TaskList)


async def test_a_list_that_never_comes_times_out(
    link: Link, autojump_clock: MockClock
) -> None:
    with pytest.raises(Timeout, match="no answer to task-list within 30 s"):
        await link.ask(TaskListQuery(think_process_id="tp_1"), TaskList)


async def test_an_answer_of_another_kind_is_unexpected(
    net: MemoryNet, link: Link, autojump_clock: MockClock
) -> None:
    net.brain.ignored.clear()

    with pytest.raises(UnexpectedAnswer):
        await link.ask(TaskListQuery(think_process_id="tp_1"), Why)


async def test_whoever_asks_is_woken_when_the_brain_goes(
    net: MemoryNet, link: Link, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    async def go() -> None:
        await net.brain.until(1, TaskListQuery)
        pipe = net.brain.current.pipe
        assert pipe is not None
        await pipe.drop()

    nursery.start_soon(go)
    with trio.fail_after(5), pytest.raises(ConnectionLost):
        await link.ask(TaskListQuery(think_process_id="tp_1"), TaskList)


async def test_of_two_words_about_a_task_the_later_one_counts(
    net: MemoryNet, link: Link, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    # The update left the Brain before the list, which knows better.  It was seen
    # failing when the list was read past what else had come.
    board = Board("tp_1")
    seen: list[list[str]] = []

    async def brain() -> None:
        first, *_ = await net.brain.until(1, TaskListQuery)
        await net.brain.push(listed(row("a", "pending"), to=first), durable=False)
        early = TaskUpdate(task_id="task_a", status="running", think_process_id="tp_1")
        await net.brain.push(early)
        second = (await net.brain.until(2, TaskListQuery))[1]
        await net.brain.push(attrs.evolve(early, status="pending"))
        await net.brain.push(listed(row("a", "done"), to=second), durable=False)
        await net.brain.push(ProcessStatus(think_process_id="tp_1", status="done"))
        for count in itertools.count(3):
            query = (await net.brain.until(count, TaskListQuery))[-1]
            await net.brain.push(listed(row("a", "done"), to=query), durable=False)

    nursery.start_soon(brain)
    with trio.fail_after(5):
        await Follower(link=link, board=board).follow(
            lambda board: seen.append([line.status for line in board.lines()]),
            lambda _: False,
        )

    assert seen[-1] == ["done"]
    assert board.status == "done"
    after_done = seen[seen.index(["done"]) :]
    assert all(statuses == ["done"] for statuses in after_done)
    nursery.cancel_scope.cancel()


async def test_following_ends_with_the_connection(
    net: MemoryNet, link: Link, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    async def go() -> None:
        await net.brain.until(1, TaskListQuery)
        pipe = net.brain.current.pipe
        assert pipe is not None
        await pipe.drop()

    nursery.start_soon(go)
    with trio.fail_after(5), pytest.raises(ConnectionLost):
        await Follower(link=link, board=Board("tp_1")).follow(
            lambda _: None, lambda _: False
        )


async def test_a_why_is_asked_and_answered(
    net: MemoryNet, link: Link, autojump_clock: MockClock
) -> None:
    net.brain.ignored.add("why")
    with trio.move_on_after(1) as scope:
        await link.ask(WhyQuery(task_id="task_a"), Why)

    assert scope.cancelled_caught
