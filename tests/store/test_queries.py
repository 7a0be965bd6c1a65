"""What each query reads and writes, on the real schema."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.store.queries_kit import NOW, Rows, session
from vancetope.clock import ManualClock
from vancetope.model import cause as causes
from vancetope.model.status import CallState, ProcessStatus, TaskStatus
from vancetope.model.tool import Effect
from vancetope.store import opening
from vancetope.store.queries import (
    calls,
    inbox,
    processes,
    sessions,
)
from vancetope.store.queries.calls import Sending
from vancetope.store.tx import Tx

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


# ------------------------------------------------------------------------- calls


def sending(session_id: str | None = "sess_1") -> Sending:
    return Sending(
        tool="other",
        effect=Effect.READ,
        decision="client",
        reason="because",
        side="laptop",
        session_id=session_id,
        epoch=2,
        journal_id="journal",
    )


def test_a_task_has_at_most_one_open_call(rows: Rows) -> None:
    rows.task("t1")
    rows.call("call_1", "t1")
    with pytest.raises(sqlite3.IntegrityError):
        rows.call("call_2", "t1", CallState.DISPATCHED)
    calls.set_ended(rows.conn, "call_1", CallState.CANCELLED, now_ms=NOW)
    assert calls.open_of_task(rows.conn, "t1") is None
    rows.call("call_2", "t1")
    found = calls.open_of_task(rows.conn, "t1")
    assert found is not None
    assert (found.id, found.args, found.ended_at) == ("call_2", {"a": 1}, None)
    of_task = calls.of_task(rows.conn, "t1")
    assert [one.id for one in of_task] == ["call_1", "call_2"]


def test_a_call_that_never_went_anywhere_is_over_at_once(rows: Rows) -> None:
    rows.task("t1")
    rows.call("call_1", "t1", CallState.FAILED)
    found = calls.get(rows.conn, "call_1")
    assert found is not None
    assert found.ended_at == NOW
    assert calls.get(rows.conn, "call_2") is None


def test_a_dispatch_says_who_has_the_call(rows: Rows) -> None:
    rows.task("t1")
    rows.call("call_1", "t1")
    calls.set_dispatched(rows.conn, "call_1", sending(), NOW)
    calls.set_state(rows.conn, "call_1", CallState.ACCEPTED, now_ms=NOW + 1)
    found = calls.get(rows.conn, "call_1")
    assert found is not None
    assert (found.state, found.attempt) == (CallState.ACCEPTED, 1)
    assert (found.tool, found.effect, found.reason) == ("other", "read", "because")
    assert (found.dispatched_at, found.accepted_at) == (NOW, NOW + 1)
    assert calls.at_work(rows.conn) == calls.at_work(rows.conn, "sess_1") == [found]
    assert calls.at_work(rows.conn, "sess_2") == []
    calls.set_dispatched(rows.conn, "call_1", sending("sess_2"), NOW)
    again = calls.get(rows.conn, "call_1")
    assert again is not None
    assert (again.state, again.attempt) == (CallState.DISPATCHED, 2)
    assert again.accepted_at is None


def test_a_state_keeps_the_reason_unless_it_has_another(rows: Rows) -> None:
    rows.task("t1")
    rows.call("call_1", "t1")
    calls.set_state(rows.conn, "call_1", CallState.UNKNOWN, now_ms=NOW)
    found = calls.get(rows.conn, "call_1")
    assert found is not None
    assert (found.decision, found.reason) == ("park", "why")
    calls.set_state(
        rows.conn, "call_1", CallState.PARKED, now_ms=NOW, decision="x", reason="y"
    )
    found = calls.get(rows.conn, "call_1")
    assert found is not None
    assert (found.decision, found.reason) == ("x", "y")


def test_the_end_of_a_call_keeps_result_and_error(rows: Rows) -> None:
    rows.task("t1")
    rows.call("call_1", "t1")
    calls.set_ended(
        rows.conn,
        "call_1",
        CallState.FAILED,
        now_ms=NOW,
        result=[1],
        error={"code": "x"},
    )
    found = calls.get(rows.conn, "call_1")
    assert found is not None
    assert (found.result, found.error) == ([1], {"code": "x"})
    assert calls.count_by_state(rows.conn) == {"failed": 1}


# --------------------------------------------------------------------- processes


def test_a_process_is_read_as_it_was_written(rows: Rows) -> None:
    record = rows.process("tp_2", key="k", autonomous=True, session_id=None)
    assert processes.get(rows.conn, "tp_2") == record
    assert processes.by_idempotency_key(rows.conn, "owner", "k") == record
    assert processes.by_idempotency_key(rows.conn, "robot", "k") is None
    assert processes.definition(rows.conn, "tp_2") == ({"id": "any"}, {"n": 1})
    assert processes.get(rows.conn, "tp_3") is None
    with pytest.raises(KeyError):
        processes.definition(rows.conn, "tp_3")


def test_one_key_starts_one_process_of_a_principal(rows: Rows) -> None:
    rows.process("tp_2", key="k")
    rows.process("tp_3", key="k", principal="robot")
    with pytest.raises(sqlite3.IntegrityError):
        rows.process("tp_4", key="k")


def test_a_process_ends_and_may_go_on(rows: Rows) -> None:
    processes.set_status(rows.conn, "tp_1", ProcessStatus.DONE, NOW)
    ended = processes.get(rows.conn, "tp_1")
    assert ended is not None
    assert ended.ended_at == NOW
    assert processes.open_ids(rows.conn) == []
    processes.set_status(rows.conn, "tp_1", ProcessStatus.RUNNING, NOW)
    assert processes.open_ids(rows.conn) == ["tp_1"]


def test_a_process_counts_its_open_tasks_and_remembers_failure(rows: Rows) -> None:
    processes.add_open_tasks(rows.conn, "tp_1", 2)
    processes.add_open_tasks(rows.conn, "tp_1", -1)
    processes.set_has_failed(rows.conn, "tp_1", failed=True)
    processes.set_served_by(rows.conn, "tp_1", "laptop")
    found = processes.get(rows.conn, "tp_1")
    assert found is not None
    assert (found.open_tasks, found.has_failed) == (1, True)
    assert found.served_by == "laptop"
    with pytest.raises(sqlite3.IntegrityError):
        processes.add_open_tasks(rows.conn, "tp_1", -2)


def test_a_result_is_kept_and_taken_away(rows: Rows) -> None:
    assert processes.result(rows.conn, "tp_1") is None
    processes.set_result(rows.conn, "tp_1", {"a": [1]})
    assert processes.result(rows.conn, "tp_1") == {"a": [1]}
    processes.set_result(rows.conn, "tp_1", None)
    assert processes.result(rows.conn, "tp_1") is None


def test_processes_are_listed_by_project_owner_and_end(rows: Rows) -> None:
    rows.process("tp_2", project_id="other", created_at=NOW + 1)
    rows.process("tp_3", principal="robot", created_at=NOW + 2)
    processes.set_status(rows.conn, "tp_1", ProcessStatus.DONE, 50)

    def ids(**given: Any) -> list[str]:
        found = processes.listed(rows.conn, **given)
        return [one.id for one in found]

    assert ids(ended_after=None) == ["tp_1", "tp_2", "tp_3"]
    assert ids(ended_after=50) == ["tp_2", "tp_3"]
    assert ids(ended_after=49, project_id="default") == ["tp_1", "tp_3"]
    assert ids(ended_after=None, principal="robot") == ["tp_3"]


def test_a_project_is_made_once(rows: Rows) -> None:
    first = processes.ensure_project(rows.conn, "p", "Name", NOW)
    assert processes.ensure_project(rows.conn, "p", "Other", NOW + 1) == first
    assert processes.project(rows.conn, "p") == first
    assert processes.project(rows.conn, "q") is None
    assert [one.id for one in processes.projects(rows.conn)] == ["default", "p"]


# ------------------------------------------------------- sessions, offers, events


def test_the_newest_session_nobody_is_on_is_resumed(rows: Rows) -> None:
    cases: tuple[dict[str, Any], ...] = (
        {},
        {"connected": False, "seen_at": 10},
        {"connected": False, "seen_at": 20},
        {"connected": False, "seen_at": 30, "profile": "cli"},
        {"connected": False, "seen_at": 40, "closed_at": 1},
        {"connected": False, "seen_at": 50, "principal": "robot"},
    )
    for number, given in enumerate(cases):
        rows.session(f"sess_{number}", **given)

    def newest(seen_after: int) -> str | None:
        found = sessions.newest_unbound(
            rows.conn,
            principal="owner",
            project_id="default",
            profile="web",
            client_key="another",
            client_id="cl_another",
            seen_after=seen_after,
            dropped_before=0,
        )
        return None if found is None else found.id

    assert newest(0) == "sess_2"
    assert newest(20) is None
    assert [one.id for one in sessions.of_principal(rows.conn, "robot")] == ["sess_5"]
    assert len(sessions.of_principal(rows.conn, None)) == 5


def test_a_session_whose_client_has_just_dropped_is_that_clients_alone(
    rows: Rows,
) -> None:
    record = rows.session("sess_1")

    def found_by(key: str, client_id: str, dropped_before: int) -> bool:
        found = sessions.newest_unbound(
            rows.conn,
            principal=record.principal,
            project_id=record.project_id,
            profile=record.profile,
            client_key=key,
            client_id=client_id,
            seen_after=0,
            dropped_before=dropped_before,
        )
        return found is not None

    sessions.detach(rows.conn, "sess_1", 1, NOW, close=False, dropped=True)
    assert not found_by("other", "cl_other", NOW)
    assert found_by(record.client_key, "cl_other", NOW)
    assert found_by("other", record.client_id, NOW)
    assert found_by("other", "cl_other", NOW + 1)
    sessions.detach(rows.conn, "sess_1", 1, NOW, close=False, dropped=False)
    assert found_by("other", "cl_other", NOW)


def test_a_connection_leaves_only_its_own_epoch(rows: Rows) -> None:
    record = rows.session("sess_1")
    assert sessions.get(rows.conn, "sess_1") == record
    newer = session(
        "sess_1", epoch=2, client_key="new", journal_id="j", seen_at=NOW + 1
    )
    sessions.attach(rows.conn, newer)
    assert sessions.get(rows.conn, "sess_1") == newer
    assert not sessions.detach(rows.conn, "sess_1", 1, NOW, close=True, dropped=False)
    assert sessions.detach(rows.conn, "sess_1", 2, NOW, close=False, dropped=True)
    found = sessions.get(rows.conn, "sess_1")
    assert found is not None
    assert (found.connected, found.closed_at) == (False, None)
    sessions.close(rows.conn, "sess_1", NOW)
    found = sessions.get(rows.conn, "sess_1")
    assert found is not None
    assert found.closed_at == NOW


def test_at_boot_nobody_is_connected(rows: Rows) -> None:
    rows.session("sess_1")
    rows.session("sess_2", kind="robot")
    rows.session("sess_3", kind="robot", connected=False, closed_at=1)
    assert sorted(sessions.detach_all(rows.conn, NOW)) == ["sess_1", "sess_2"]
    assert sessions.detach_all(rows.conn, NOW) == []
    assert sessions.unbound_robots(rows.conn) == ["sess_2"]


def test_an_offer_is_remembered_with_who_made_it_last(rows: Rows) -> None:
    for client, now in (("laptop", 1), ("desktop", 2)):
        for text in ("old", "new"):
            sessions.remember_offer(
                rows.conn,
                principal="owner",
                client_key=client,
                tool="tool",
                type_="native",
                mcp_server=None,
                description=text,
                now_ms=now,
            )
    newest = sessions.remembered_offer(rows.conn, "tool")
    named = sessions.remembered_offer(rows.conn, "tool", "laptop")
    assert newest is not None
    assert named is not None
    assert (newest["client_key"], newest["description"]) == ("desktop", "new")
    assert (named["client_key"], named["last_at"]) == ("laptop", 1)
    assert sessions.remembered_offer(rows.conn, "other") is None
    (known,) = sessions.remembered_tools(rows.conn)
    assert (known["tool"], known["client_key"]) == ("tool", "desktop")


def test_events_of_a_project_follow_a_cursor(rows: Rows) -> None:
    assert sessions.last_seq(rows.conn) == 0
    tx = Tx(rows.conn, NOW)
    for number in range(4):
        project = "default" if number % 2 == 0 else "other"
        tx.emit("task", project_id=project, task_id=f"t{number}", body=number)
    found = sessions.events_after(rows.conn, "default", 0, 10)
    assert [(one.seq, one.body) for one in found] == [(1, 0), (3, 2)]
    found = sessions.events_after(rows.conn, "default", 1, 1)
    assert [(one.seq, one.at) for one in found] == [(3, NOW)]
    assert sessions.last_seq(rows.conn) == 4


def test_the_inbox_has_what_a_person_must_decide(rows: Rows) -> None:
    rows.process("tp_2", principal="robot", project_id="other")
    for task_id, process_id in (("t1", "tp_1"), ("t2", "tp_2"), ("t3", "tp_1")):
        rows.task(task_id, process_id=process_id)
        rows.held(task_id, BLOCKED, causes.outcome_unknown("tool", "lost"))
    rows.held("t3", BLOCKED, causes.client_tool("tool"))
    everything = inbox.waiting_for_person(rows.conn, None, None)
    assert [(one.id, project) for one, project, _ in everything] == [
        ("t1", "default"),
        ("t2", "other"),
    ]
    of_robot = inbox.waiting_for_person(rows.conn, None, "robot")
    of_project = inbox.waiting_for_person(rows.conn, "default", None)
    assert [one.id for one, _, _ in of_robot] == ["t2"]
    assert [one.id for one, _, _ in of_project] == ["t1"]
