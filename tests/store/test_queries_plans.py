"""Hot queries go through an index, also with ten thousand rows around them."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.store.queries_kit import NOW, Explaining, Rows
from vancetope.clock import ManualClock
from vancetope.model import cause as causes
from vancetope.model.status import CauseKind, TaskStatus
from vancetope.store import opening
from vancetope.store.queries import (
    calls,
    processes,
    sessions,
    task_writes,
    tasks,
)
from vancetope.store.tx import Tx

Query = Callable[[sqlite3.Connection], object]

COUNT: Final = 10_000
CLIENT_TOOL: Final = CauseKind.CLIENT_TOOL
BLOCKED: Final = TaskStatus.BLOCKED

HOT: Final[dict[str, Query]] = {
    "task": lambda conn: tasks.get(conn, "t5"),
    "by_key": lambda conn: tasks.by_key(conn, "tp_1", "t5"),
    "ready": lambda conn: tasks.ready(conn, "tp_1", "each", 16),
    "any_ready": lambda conn: tasks.any_ready(conn, "tp_1"),
    "any_running": lambda conn: tasks.any_running(conn, "tp_1"),
    "first_held": lambda conn: tasks.first_held(conn, "tp_1", BLOCKED),
    "waiting_for": lambda conn: tasks.waiting_for(
        conn, CLIENT_TOOL, ["tool", "tool@laptop"], "t5", 250
    ),
    "of_session_with_cause": lambda conn: tasks.of_session_with_cause(
        conn, "sess_1", CLIENT_TOOL
    ),
    "next_start_by": tasks.next_start_by,
    "past_start_by": lambda conn: tasks.past_start_by(conn, NOW),
    "child_id": lambda conn: tasks.child_id(conn, "t0", 5),
    "children": lambda conn: tasks.children(conn, "t0"),
    "open_child_count": lambda conn: tasks.open_child_count(conn, "t0"),
    "dependents": lambda conn: tasks.dependents(conn, "t0"),
    "dependencies": lambda conn: tasks.dependencies(conn, "t5"),
    "last_rank": lambda conn: tasks.last_rank(conn, "tp_1"),
    "rank_before": lambda conn: tasks.rank_before(conn, "tp_1", 7.0),
    "ready_lanes": tasks.ready_lanes,
    "running": tasks.running,
    "set_running": lambda conn: task_writes.set_running(conn, "t5", "server", NOW),
    "set_held": lambda conn: task_writes.set_held(
        conn, "t5", BLOCKED, causes.client_tool("tool"), NOW
    ),
    "forget_wakes": lambda conn: task_writes.forget_wakes(conn, "t5"),
    "call": lambda conn: calls.get(conn, "call_5"),
    "open_of_task": lambda conn: calls.open_of_task(conn, "t5"),
    "of_task": lambda conn: calls.of_task(conn, "t5"),
    "at_work": lambda conn: calls.at_work(conn, "sess_1"),
    "at_work_all": calls.at_work,
    "process": lambda conn: processes.get(conn, "tp_1"),
    "open_ids": processes.open_ids,
    "by_idempotency_key": lambda conn: processes.by_idempotency_key(conn, "owner", "k"),
    "session": lambda conn: sessions.get(conn, "sess_1"),
    "newest_unbound": lambda conn: sessions.newest_unbound(
        conn,
        principal="owner",
        project_id="default",
        profile="web",
        client_key="c",
        client_id="cl",
        seen_after=0,
        dropped_before=0,
    ),
    "remembered_offer": lambda conn: sessions.remembered_offer(conn, "tool"),
    "last_seq": sessions.last_seq,
    "events_after": lambda conn: sessions.events_after(conn, "default", 5, 100),
}
#: Those that may look through a whole partial index: all of it is the answer.
WHOLE_INDEX: Final = {
    "ready_lanes",
    "running",
    "at_work_all",
    "open_ids",
    "of_session_with_cause",
}
#: Answers that come out of the index in order, so that a limit saves work.
IN_ORDER: Final = ("ready", "events_after", "children", "last_rank", "next_start_by")


@pytest.fixture(scope="module")
def conn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explaining]:
    """A `foreach` of ten thousand, each third waiting for a client."""
    path: Path = tmp_path_factory.mktemp("plans") / "brain.db"
    made = sqlite3.connect(path, isolation_level=None)
    made.close()
    with_jobs = opening.connect_writer(path)
    opening.prepare(with_jobs, clock=ManualClock())
    with_jobs.close()
    connection = sqlite3.connect(path, isolation_level=None, factory=Explaining)
    connection.row_factory = sqlite3.Row
    connection.execute("BEGIN")
    rows = Rows(connection)
    rows.session()
    rows.process(session_id="sess_1")
    rows.task("t0", cause=causes.CHILDREN)
    tx = Tx(connection, NOW)
    for number in range(1, COUNT):
        task_id = f"t{number}"
        rows.task(
            task_id, node="each", parent_id="t0", item_index=number, rank=float(number)
        )
        rows.call(f"call_{number}", task_id)
        tx.emit("task", project_id="default", task_id=task_id)
        if number % 3 == 0:
            rows.held(task_id, BLOCKED, causes.client_tool("tool"))
    connection.execute("COMMIT")
    yield connection
    connection.close()


@pytest.fixture
def plans(conn: Explaining) -> Iterator[list[str]]:
    """What SQLite says about the statements of this test, none of which stays."""
    conn.execute("BEGIN")
    conn.plans.clear()
    yield conn.plans
    conn.execute("ROLLBACK")


@pytest.mark.parametrize("name", HOT)
def test_a_hot_query_scans_no_table(
    name: str, conn: Explaining, plans: list[str]
) -> None:
    HOT[name](conn)
    assert plans
    scans = [line for line in plans if line.startswith("SCAN")]
    # The rows a subquery found, and a search for the smallest key, are no scan.
    scans = [line for line in scans if "LIST SUBQUERY" not in line]
    if name in WHOLE_INDEX:
        scans = [line for line in scans if "INDEX" not in line]
    assert scans == [], plans


@pytest.mark.parametrize("name", IN_ORDER)
def test_a_limited_query_sorts_nothing(
    name: str, conn: Explaining, plans: list[str]
) -> None:
    HOT[name](conn)
    assert not [line for line in plans if "TEMP B-TREE" in line], plans


def test_a_table_scan_would_be_seen(conn: Explaining, plans: list[str]) -> None:
    conn.execute("SELECT id FROM task WHERE goal = ?", ("Goal",)).fetchone()
    assert [line for line in plans if line.startswith("SCAN")]


def test_ten_thousand_tasks_come_in_whole_pages(conn: Explaining) -> None:
    seen: list[str] = []
    after = ""
    while page := tasks.waiting_for(conn, CLIENT_TOOL, ["tool"], after, 250):
        seen += [task.id for task in page]
        after = page[-1].id
    assert len(seen) == len(set(seen)) == (COUNT - 1) // 3


def test_ten_thousand_ready_tasks_begin_with_the_first(conn: Explaining) -> None:
    found = tasks.ready(conn, "tp_1", "each", 3)
    assert [task.id for task in found] == ["t1", "t2", "t4"]
    assert tasks.child_count(conn, "t0") == COUNT - 1
