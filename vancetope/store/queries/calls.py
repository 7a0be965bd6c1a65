"""Calls: one row for each tool invocation."""

import sqlite3
from collections.abc import Mapping
from typing import Final

import attrs

from vancetope.model.json import Json, JsonObject, dumps, loads
from vancetope.model.records import CallRecord
from vancetope.model.status import CallState
from vancetope.model.tool import Effect

_COLUMNS: Final = (
    "id, process_id, task_id, tool, args, args_digest, effect, state, decision, reason,"
    " side, session_id, epoch, journal_id, attempt, timeout_ms, result, error,"
    " created_at, dispatched_at, accepted_at, ended_at"
)
_OPEN: Final = "state IN ('parked', 'dispatched', 'accepted', 'unknown')"
_AT_WORK: Final = "state IN ('dispatched', 'accepted')"


@attrs.frozen(kw_only=True)
class Sending:
    """Where a call goes, and by which decision.

    Attributes:
        tool: what runs; the fallback tool, if that was decided.
        side: `server` or the client's key; the rest names the client's connection.
    """

    tool: str
    effect: Effect
    decision: str
    reason: str
    side: str
    session_id: str | None
    epoch: int | None
    journal_id: str | None


def _object(text: str | None) -> JsonObject | None:
    value = None if text is None else loads(text)
    return value if isinstance(value, dict) else None


def _record(row: sqlite3.Row) -> CallRecord:
    return CallRecord(
        id=row["id"],
        process_id=row["process_id"],
        task_id=row["task_id"],
        tool=row["tool"],
        args=_object(row["args"]) or {},
        args_digest=row["args_digest"],
        effect=Effect(row["effect"]),
        state=CallState(row["state"]),
        decision=row["decision"],
        reason=row["reason"],
        side=row["side"],
        session_id=row["session_id"],
        epoch=row["epoch"],
        journal_id=row["journal_id"],
        attempt=row["attempt"],
        timeout_ms=row["timeout_ms"],
        result=None if row["result"] is None else loads(row["result"]),
        error=_object(row["error"]),
        created_at=row["created_at"],
        dispatched_at=row["dispatched_at"],
        accepted_at=row["accepted_at"],
        ended_at=row["ended_at"],
    )


def get(conn: sqlite3.Connection, call_id: str) -> CallRecord | None:
    """The call of this id."""
    row = conn.execute(
        f"SELECT {_COLUMNS} FROM call WHERE id = ?", (call_id,)
    ).fetchone()
    return _record(row) if row else None


def open_of_task(conn: sqlite3.Connection, task_id: str) -> CallRecord | None:
    """The call of a task that has not ended; a task has at most one."""
    row = conn.execute(
        f"SELECT {_COLUMNS} FROM call WHERE task_id = ? AND {_OPEN}", (task_id,)
    ).fetchone()
    return _record(row) if row else None


def of_task(conn: sqlite3.Connection, task_id: str) -> list[CallRecord]:
    """Every call of a task, oldest first."""
    rows = conn.execute(
        f"SELECT {_COLUMNS} FROM call WHERE task_id = ? ORDER BY created_at, id",
        (task_id,),
    )
    return [_record(row) for row in rows]


def at_work(
    conn: sqlite3.Connection, session_id: str | None = None
) -> list[CallRecord]:
    """The calls some client or child may be working on; of one session or all."""
    only = "" if session_id is None else " AND session_id = ?"
    rows = conn.execute(
        f"SELECT {_COLUMNS} FROM call WHERE {_AT_WORK}{only}",
        () if session_id is None else (session_id,),
    )
    return [_record(row) for row in rows]


def count_by_state(conn: sqlite3.Connection) -> dict[str, int]:
    """How many calls there are in each state."""
    rows = conn.execute("SELECT state, count(*) FROM call GROUP BY state")
    return {row[0]: row[1] for row in rows}


def insert(  # noqa: PLR0913 - a row has its columns
    conn: sqlite3.Connection,
    *,
    call_id: str,
    process_id: str,
    task_id: str,
    tool: str,
    args: JsonObject,
    args_digest: str,
    effect: Effect,
    state: CallState,
    decision: str,
    reason: str,
    timeout_ms: int,
    now_ms: int,
) -> None:
    """A new call."""
    ended = None if state in (CallState.PARKED, CallState.DISPATCHED) else now_ms
    conn.execute(
        "INSERT INTO call (id, process_id, task_id, tool, args, args_digest, effect,"
        " state, decision, reason, timeout_ms, created_at, ended_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            call_id,
            process_id,
            task_id,
            tool,
            dumps(args),
            args_digest,
            effect,
            state,
            decision,
            reason,
            timeout_ms,
            now_ms,
            ended,
        ),
    )


def set_dispatched(
    conn: sqlite3.Connection, call_id: str, sent: Sending, now_ms: int
) -> None:
    """The call is about to leave for this side."""
    conn.execute(
        "UPDATE call SET state = 'dispatched', tool = ?, effect = ?, decision = ?,"
        " reason = ?, side = ?, session_id = ?, epoch = ?, journal_id = ?,"
        " attempt = attempt + 1, dispatched_at = ?, accepted_at = NULL WHERE id = ?",
        (
            sent.tool,
            sent.effect,
            sent.decision,
            sent.reason,
            sent.side,
            sent.session_id,
            sent.epoch,
            sent.journal_id,
            now_ms,
            call_id,
        ),
    )


def set_state(
    conn: sqlite3.Connection,
    call_id: str,
    state: CallState,
    *,
    now_ms: int,
    decision: str | None = None,
    reason: str | None = None,
) -> None:
    """The call is `parked`, `accepted` or `unknown`; optionally with a new reason."""
    accepted = now_ms if state is CallState.ACCEPTED else None
    conn.execute(
        "UPDATE call SET state = ?, accepted_at = coalesce(?, accepted_at),"
        " decision = coalesce(?, decision), reason = coalesce(?, reason) WHERE id = ?",
        (state, accepted, decision, reason, call_id),
    )


def set_ended(
    conn: sqlite3.Connection,
    call_id: str,
    state: CallState,
    *,
    now_ms: int,
    result: Json = None,
    error: Mapping[str, Json] | None = None,
) -> None:
    """The call is over."""
    conn.execute(
        "UPDATE call SET state = ?, result = ?, error = ?, ended_at = ? WHERE id = ?",
        (
            state,
            None if result is None else dumps(result),
            None if error is None else dumps(dict(error)),
            now_ms,
            call_id,
        ),
    )
