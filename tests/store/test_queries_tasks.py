"""What each query of the task tree reads and writes, on the real schema."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.queries_kit import NOW, Rows
from vancetope.clock import ManualClock
from vancetope.model import cause as causes
from vancetope.model.cause import Cause
from vancetope.model.status import CauseKind, ProcessStatus, TaskStatus
from vancetope.store import opening
from vancetope.store.queries import (
    processes,
    task_writes,
    tasks,
)

BLOCKED, QUEUED = TaskStatus.BLOCKED, TaskStatus.QUEUED


@pytest.fixture
def conn(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = opening.connect_writer(tmp_path / "brain.db")
    opening.prepare(connection, clock=ManualClock())
    connection.execute("PRAGMA synchronous = OFF")
    yield connection
    connection.close()


@pytest.fixture
def rows(conn: sqlite3.Connection) -> Rows:
    made = Rows(conn)
    made.process()
    return made


def test_a_task_is_read_as_it_was_written(rows: Rows) -> None:
    rows.task("task_1", item={"x": 1}, item_index=3, continue_on_error=True)
    found = tasks.get(rows.conn, "task_1")
    assert found is not None
    assert (found.key, found.item_index, found.continue_on_error) == ("task_1", 3, True)
    assert found.cause is not None
    assert (found.cause.kind, found.cause.since) == (CauseKind.READY, NOW)
    assert tasks.by_key(rows.conn, "tp_1", "task_1") == found
    assert tasks.item(rows.conn, "task_1") == {"x": 1}
    assert tasks.get(rows.conn, "task_2") is None
    assert tasks.by_key(rows.conn, "tp_2", "task_1") is None
    assert tasks.item(rows.conn, "task_2") is None


def test_a_parent_has_one_child_of_each_index(rows: Rows) -> None:
    rows.task("parent")
    assert rows.task("c1", parent_id="parent", item_index=1, item=None)
    assert not rows.task("again", parent_id="parent", item_index=1)
    assert rows.task("c0", parent_id="parent", item_index=0)
    assert [one.id for one in tasks.children(rows.conn, "parent")] == ["c0", "c1"]
    assert tasks.child_id(rows.conn, "parent", 1) == "c1"
    assert tasks.child_id(rows.conn, "parent", 2) is None
    assert tasks.child_count(rows.conn, "parent") == 2
    assert tasks.item(rows.conn, "c1") is None


def test_ended_children_are_counted_apart(rows: Rows) -> None:
    rows.task("parent")
    rows.task("c0", parent_id="parent", item_index=0, continue_on_error=True)
    rows.task("c1", parent_id="parent", item_index=1)
    rows.end("c0", TaskStatus.FAILED)
    open_ones = tasks.children(rows.conn, "parent", open_only=True)
    assert [one.id for one in open_ones] == ["c1"]
    assert tasks.open_child_count(rows.conn, "parent") == 1
    assert not tasks.any_child_broke(rows.conn, "parent")
    rows.end("c1", TaskStatus.CANCELLED)
    assert tasks.any_child_broke(rows.conn, "parent")


def test_retired_children_are_history(rows: Rows) -> None:
    rows.task("parent")
    rows.task("c0", parent_id="parent", item_index=0)
    rows.task("c1", parent_id="parent", item_index=1)
    rows.end("c0", TaskStatus.FAILED)
    rows.end("c1")
    task_writes.retire_children(rows.conn, "parent")
    assert tasks.children(rows.conn, "parent") == []
    assert tasks.child_count(rows.conn, "parent") == 0
    assert not tasks.any_child_broke(rows.conn, "parent")
    assert [one.id for one in tasks.of_process(rows.conn, "tp_1")] == ["parent"]
    assert tasks.get(rows.conn, "c0") is not None
    assert rows.task("new", parent_id="parent", item_index=0)


def test_an_outcome_is_status_result_and_error(rows: Rows) -> None:
    rows.task("task_1")
    assert tasks.outcome(rows.conn, "task_1") == (TaskStatus.PENDING, None, None)
    task_writes.set_ended(
        rows.conn,
        "task_1",
        TaskStatus.FAILED,
        result=[1],
        error={"code": "x"},
        now_ms=NOW,
    )
    found = tasks.outcome(rows.conn, "task_1")
    assert found == (TaskStatus.FAILED, [1], {"code": "x"})
    with pytest.raises(KeyError):
        tasks.outcome(rows.conn, "task_2")


def test_a_task_ends_once(rows: Rows) -> None:
    rows.task("task_1")
    assert rows.end("task_1")
    assert not rows.end("task_1", TaskStatus.FAILED)
    found = tasks.get(rows.conn, "task_1")
    assert found is not None
    assert (found.status, found.cause, found.ended_at) == (TaskStatus.DONE, None, NOW)


def test_ready_tasks_come_in_execution_order(rows: Rows) -> None:
    for number in (3, 1, 2):
        rows.task(f"t{number}", node="n", rank=number)
    rows.task("other", node="m")
    rows.task("waits", node="n", cause=causes.dependency("t1"))
    found = tasks.ready(rows.conn, "tp_1", "n", 2)
    assert [one.id for one in found] == ["t1", "t2"]
    assert sorted(tasks.ready_lanes(rows.conn)) == [("tp_1", "m"), ("tp_1", "n")]
    assert tasks.ready_lanes(rows.conn, "tp_2") == []
    task_writes.set_rank(rows.conn, "t3", 0.5)
    assert [one.id for one in tasks.ready(rows.conn, "tp_1", "n", 1)] == ["t3"]


def test_only_a_ready_task_is_claimed_and_only_once(rows: Rows) -> None:
    rows.task("task_1")
    rows.task("task_2", cause=causes.PAUSED)
    task_writes.set_start_by(rows.conn, "task_1", 5)
    assert task_writes.set_running(rows.conn, "task_1", "server", NOW)
    assert not task_writes.set_running(rows.conn, "task_1", "server", NOW)
    assert not task_writes.set_running(rows.conn, "task_2", "server", NOW)
    (found,) = tasks.running(rows.conn)
    assert (found.id, found.side, found.cause) == ("task_1", "server", None)
    assert (found.start_by, found.started_at) == (None, NOW)
    assert tasks.running(rows.conn, "tp_2") == []
    assert tasks.any_running(rows.conn, "tp_1")
    assert not tasks.any_ready(rows.conn, "tp_1")


def test_held_tasks_are_found_by_status_and_cause(rows: Rows) -> None:
    rows.task("task_1")
    rows.task("task_2")
    rows.held("task_1", BLOCKED, causes.client_tool("tool"))
    rows.held("task_2", QUEUED, causes.outcome_unknown("tool", "lost"))
    first = tasks.first_held(rows.conn, "tp_1", BLOCKED)
    assert first is not None
    assert first.id == "task_1"
    assert tasks.any_held(rows.conn, "tp_1", QUEUED)
    assert not tasks.any_held(rows.conn, "tp_2", QUEUED)
    held = tasks.with_cause(rows.conn, CauseKind.CLIENT_TOOL)
    assert [one.id for one in held] == ["task_1"]
    queued = tasks.with_status(rows.conn, "tp_1", QUEUED)
    assert [one.id for one in queued] == ["task_2"]
    assert processes.pending_tasks(rows.conn, "tp_1") == 2


def test_tasks_of_a_sessions_open_processes_are_found_by_cause(rows: Rows) -> None:
    rows.session("sess_1")
    rows.process("tp_2", session_id="sess_1")
    rows.task("mine", process_id="tp_2")
    rows.task("another")
    for task_id in ("mine", "another"):
        rows.held(task_id, BLOCKED, causes.client_tool("tool"))
    kind = CauseKind.CLIENT_TOOL
    found = tasks.of_session_with_cause(rows.conn, "sess_1", kind)
    assert [one.id for one in found] == ["mine"]
    processes.set_status(rows.conn, "tp_2", ProcessStatus.STOPPED, NOW)
    assert tasks.of_session_with_cause(rows.conn, "sess_1", kind) == []


def test_what_waits_for_a_tool_comes_in_pages(rows: Rows) -> None:
    for number in range(5):
        rows.task(f"t{number}")
    for number, key in enumerate(("a", "b", "a@laptop", "other")):
        cause = Cause(kind=CauseKind.CLIENT_TOOL, what="", key=key)
        rows.held(f"t{number}", BLOCKED, cause)
    server = Cause(kind=CauseKind.SERVER_TOOL, what="", key="s")
    rows.held("t4", BLOCKED, server)
    kind = CauseKind.CLIENT_TOOL
    task_writes.add_wake(rows.conn, kind=kind, key="a", task_id="t4")
    task_writes.add_wake(rows.conn, kind=kind, key="a", task_id="t4")
    keys = ["a", "a@laptop", "b"]
    page = tasks.waiting_for(rows.conn, kind, keys, "", 3)
    assert [one.id for one in page] == ["t0", "t1", "t2"]
    page = tasks.waiting_for(rows.conn, kind, keys, "t2", 3)
    assert [one.id for one in page] == ["t4"]
    task_writes.forget_wakes(rows.conn, "t4")
    assert tasks.waiting_for(rows.conn, kind, keys, "t2", 3) == []
    by_server = tasks.waiting_for(rows.conn, CauseKind.SERVER_TOOL, ["s"], "", 3)
    assert [one.id for one in by_server] == ["t4"]


def test_the_earliest_start_by_is_the_next_thing_due(rows: Rows) -> None:
    assert tasks.next_start_by(rows.conn) is None
    for task_id, instant in (("t1", 20), ("t2", 10), ("t3", None)):
        rows.task(task_id)
        task_writes.set_start_by(rows.conn, task_id, instant)
    assert tasks.next_start_by(rows.conn) == 10
    assert tasks.past_start_by(rows.conn, 9) == []
    assert [one.id for one in tasks.past_start_by(rows.conn, 10)] == ["t2"]
    rows.end("t2")
    assert tasks.next_start_by(rows.conn) == 20


def test_ranks_have_an_order_and_an_end(rows: Rows) -> None:
    assert tasks.last_rank(rows.conn, "tp_1") == 0
    rows.task("t1", rank=1)
    rows.task("t2", rank=2.5)
    assert tasks.last_rank(rows.conn, "tp_1") == 2.5
    assert tasks.rank_before(rows.conn, "tp_1", 2.5) == 1
    assert tasks.rank_before(rows.conn, "tp_1", 1) is None


def test_dependencies_are_read_from_both_ends(rows: Rows) -> None:
    rows.task("a", rank=2)
    rows.task("b_used", rank=1)
    rows.task("c", needs=("a", "b_used"), cause=causes.dependency("a"))
    needs = tasks.dependencies(rows.conn, "c")
    assert [one.id for one in needs] == ["b_used", "a"]
    assert [
        (one.id, uses)
        for on in ("a", "b_used")
        for one, uses in tasks.dependents(rows.conn, on)
    ] == [("c", False), ("c", True)]
    task_writes.set_open_deps(rows.conn, "c", 1)
    task_writes.set_open_children(rows.conn, "c", 4)
    found = tasks.get(rows.conn, "c")
    assert found is not None
    assert (found.open_deps, found.open_children) == (1, 4)


def test_a_cause_is_swapped_for_pending_tasks_of_one_process(rows: Rows) -> None:
    rows.process("tp_2")
    rows.task("t1")
    rows.task("t2", cause=causes.CHILDREN)
    rows.task("t3", process_id="tp_2")
    ready, paused = CauseKind.READY, causes.PAUSED
    assert task_writes.swap_cause(rows.conn, "tp_1", ready, paused, NOW) == 1
    assert not tasks.any_ready(rows.conn, "tp_1")
    assert tasks.any_ready(rows.conn, "tp_2")


def test_a_task_may_be_pending_again_after_its_end(rows: Rows) -> None:
    rows.task("t1")
    rows.end("t1")
    task_writes.set_pending(rows.conn, "t1", causes.READY, NOW)
    assert tasks.any_ready(rows.conn, "tp_1")
