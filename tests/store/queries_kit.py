"""A database with the real schema, and rows for it in one line."""

import sqlite3
from collections.abc import Iterable
from typing import Any

import attrs

from vancetope.model import cause as causes
from vancetope.model.cause import Cause
from vancetope.model.json import Json
from vancetope.model.records import ProcessRecord, SessionRecord
from vancetope.model.status import CallState, ProcessStatus, TaskStatus
from vancetope.model.tool import Effect
from vancetope.store.queries import calls, processes, sessions, task_writes

NOW = 1_000


class Explaining(sqlite3.Connection):
    """Asks SQLite how it would run each statement, with its parameters still bound."""

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self.plans: list[str] = []

    def execute(self, sql: str, params: Any = ()) -> sqlite3.Cursor:
        if sql.startswith(("SELECT", "UPDATE", "DELETE")):
            plan = super().execute(f"EXPLAIN QUERY PLAN {sql}", params)
            self.plans += [row["detail"] for row in plan]
        return super().execute(sql, params)


def session(session_id: str = "sess_1", **given: Any) -> SessionRecord:
    record = SessionRecord(
        id=session_id,
        principal="owner",
        kind="human",
        project_id="default",
        profile="web",
        client_key="laptop",
        client_id="laptop",
        client_name="Laptop",
        client_type="cli",
        journal_id=None,
        epoch=1,
        connected=True,
        created_at=NOW,
        seen_at=NOW,
        closed_at=None,
    )
    return attrs.evolve(record, **given)


def process(process_id: str = "tp_1", **given: Any) -> ProcessRecord:
    record = ProcessRecord(
        id=process_id,
        project_id="default",
        session_id=None,
        principal="owner",
        owner=True,
        title="Title",
        goal="Goal",
        engine="workflow",
        workflow_id="any",
        recipe=None,
        connection_profile="web",
        autonomous=False,
        pin=None,
        served_by=None,
        status=ProcessStatus.RUNNING,
        open_tasks=0,
        has_failed=False,
        created_at=NOW,
        changed_at=NOW,
        ended_at=None,
    )
    return attrs.evolve(record, **given)


@attrs.define(eq=False)
class Rows:
    """Inserts rows; every argument has a default that is valid."""

    conn: sqlite3.Connection

    def project(self, project_id: str = "default") -> None:
        processes.ensure_project(self.conn, project_id, project_id, NOW)

    def session(self, session_id: str = "sess_1", **given: Any) -> SessionRecord:
        record = session(session_id, **given)
        self.project(record.project_id)
        sessions.insert(self.conn, record)
        return record

    def process(
        self, process_id: str = "tp_1", key: str | None = None, **given: Any
    ) -> ProcessRecord:
        record = process(process_id, **given)
        self.project(record.project_id)
        processes.insert(
            self.conn,
            record,
            definition={"id": "any"},
            given={"n": 1},
            idempotency_key=key,
        )
        return record

    def task(
        self,
        task_id: str,
        *,
        process_id: str = "tp_1",
        parent_id: str | None = None,
        node: str | None = None,
        rank: float = 1.0,
        item: Json = None,
        item_index: int | None = None,
        continue_on_error: bool = False,
        needs: Iterable[str] = (),
        cause: Cause = causes.READY,
    ) -> bool:
        made = task_writes.insert(
            self.conn,
            task_id=task_id,
            process_id=process_id,
            parent_id=parent_id,
            node=node or task_id,
            key=task_id,
            goal="Goal",
            tool="tool",
            rank=rank,
            item=item,
            item_index=item_index,
            continue_on_error=continue_on_error,
            open_deps=len(list(needs)),
            cause=cause,
            now_ms=NOW,
        )
        for on in needs:
            task_writes.add_dependency(
                self.conn, on_task_id=on, task_id=task_id, uses=on.endswith("used")
            )
        return made

    def held(self, task_id: str, status: TaskStatus, cause: Cause) -> None:
        task_writes.set_held(self.conn, task_id, status, cause, NOW)

    def end(self, task_id: str, status: TaskStatus = TaskStatus.DONE) -> bool:
        return task_writes.set_ended(
            self.conn, task_id, status, result=None, error=None, now_ms=NOW
        )

    def call(
        self,
        call_id: str,
        task_id: str,
        state: CallState = CallState.PARKED,
        effect: Effect = Effect.ONCE,
    ) -> None:
        calls.insert(
            self.conn,
            call_id=call_id,
            process_id="tp_1",
            task_id=task_id,
            tool="tool",
            args={"a": 1},
            args_digest="digest",
            effect=effect,
            state=state,
            decision="park",
            reason="why",
            timeout_ms=10,
            now_ms=NOW,
        )
