"""The task tree: what is written to it, by `processes.flow` alone."""

import sqlite3

from vancetope.model.cause import Cause
from vancetope.model.json import Json, dumps
from vancetope.model.status import CauseKind, TaskStatus
from vancetope.store.queries.tasks import READY


def insert(  # noqa: PLR0913 - a row has its columns
    conn: sqlite3.Connection,
    *,
    task_id: str,
    process_id: str,
    parent_id: str | None,
    node: str,
    key: str,
    goal: str,
    tool: str | None,
    rank: float,
    item: Json,
    item_index: int | None,
    continue_on_error: bool,
    open_deps: int,
    cause: Cause,
    now_ms: int,
) -> bool:
    """A new pending task; False when the parent has a child of that index."""
    cursor = conn.execute(
        "INSERT INTO task (id, process_id, parent_id, node, key, goal, tool, rank, item,"
        " item_index, continue_on_error, open_deps, status, cause_kind, cause_what,"
        " cause_key, cause_since, wakes_on, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (parent_id, item_index) WHERE parent_id IS NOT NULL DO NOTHING",
        (
            task_id,
            process_id,
            parent_id,
            node,
            key,
            goal,
            tool,
            rank,
            None if item_index is None else dumps(item),
            item_index,
            int(continue_on_error),
            open_deps,
            cause.kind,
            cause.what,
            cause.key,
            now_ms,
            cause.wakes_on,
            now_ms,
        ),
    )
    return cursor.rowcount == 1


def add_dependency(
    conn: sqlite3.Connection, *, on_task_id: str, task_id: str, uses: bool
) -> None:
    """`task_id` runs only after `on_task_id`."""
    conn.execute(
        "INSERT OR IGNORE INTO task_dep (on_task_id, task_id, uses) VALUES (?, ?, ?)",
        (on_task_id, task_id, int(uses)),
    )


def set_pending(
    conn: sqlite3.Connection, task_id: str, cause: Cause, now_ms: int
) -> None:
    """The task waits, with this cause."""
    set_held(conn, task_id, TaskStatus.PENDING, cause, now_ms)


def set_held(
    conn: sqlite3.Connection,
    task_id: str,
    status: TaskStatus,
    cause: Cause,
    now_ms: int,
) -> None:
    """The task is `pending`, `blocked` or `queued` with this cause."""
    conn.execute(
        "UPDATE task SET status = ?, cause_kind = ?, cause_what = ?, cause_key = ?,"
        " cause_since = ?, wakes_on = ?, ended_at = NULL WHERE id = ?",
        (
            status,
            cause.kind,
            cause.what,
            cause.key,
            now_ms,
            cause.wakes_on,
            task_id,
        ),
    )


def set_running(
    conn: sqlite3.Connection, task_id: str, side: str | None, now_ms: int
) -> bool:
    """Claim a ready task; False when it is no longer ready."""
    cursor = conn.execute(
        "UPDATE task SET status = 'running', cause_kind = NULL, cause_what = NULL,"
        " cause_key = NULL, cause_since = NULL, wakes_on = NULL, side = ?,"
        f" start_by = NULL, started_at = ? WHERE id = ? AND {READY}",
        (side, now_ms, task_id),
    )
    return cursor.rowcount == 1


def set_ended(
    conn: sqlite3.Connection,
    task_id: str,
    status: TaskStatus,
    *,
    result: Json,
    error: dict[str, Json] | None,
    now_ms: int,
) -> bool:
    """The task is over; False when it was so already, and nothing changed."""
    cursor = conn.execute(
        "UPDATE task SET status = ?, cause_kind = NULL, cause_what = NULL,"
        " cause_key = NULL, cause_since = NULL, wakes_on = NULL, start_by = NULL,"
        " result = ?, error = ?, ended_at = ? WHERE id = ? AND ended_at IS NULL",
        (
            status,
            None if result is None else dumps(result),
            None if error is None else dumps(error),
            now_ms,
            task_id,
        ),
    )
    return cursor.rowcount == 1


def set_open_deps(conn: sqlite3.Connection, task_id: str, count: int) -> None:
    """How many dependencies are still open."""
    conn.execute("UPDATE task SET open_deps = ? WHERE id = ?", (count, task_id))


def count_down(conn: sqlite3.Connection, on_task_id: str) -> None:
    """A task has ended: all that wait for it have one open dependency less."""
    conn.execute(
        "UPDATE task SET open_deps = open_deps - 1 WHERE ended_at IS NULL"
        " AND open_deps > 0"
        " AND id IN (SELECT task_id FROM task_dep WHERE on_task_id = ?)",
        (on_task_id,),
    )


def set_open_children(conn: sqlite3.Connection, task_id: str, count: int) -> None:
    """How many children are still open."""
    conn.execute("UPDATE task SET open_children = ? WHERE id = ?", (count, task_id))


def set_start_by(conn: sqlite3.Connection, task_id: str, instant: int | None) -> None:
    """When the wait for a client is over."""
    conn.execute("UPDATE task SET start_by = ? WHERE id = ?", (instant, task_id))


def set_rank(conn: sqlite3.Connection, task_id: str, rank: float) -> None:
    """Where the task stands in the execution order."""
    conn.execute("UPDATE task SET rank = ? WHERE id = ?", (rank, task_id))


def swap_cause(
    conn: sqlite3.Connection,
    process_id: str,
    old: CauseKind,
    new: Cause,
    now_ms: int,
) -> int:
    """Give every pending task of a process with cause `old` the cause `new`."""
    cursor = conn.execute(
        "UPDATE task SET cause_kind = ?, cause_what = ?, cause_key = ?,"
        " cause_since = ?, wakes_on = ? WHERE process_id = ? AND status = 'pending'"
        " AND cause_kind = ?",
        (new.kind, new.what, new.key, now_ms, new.wakes_on, process_id, old),
    )
    return cursor.rowcount


def add_wake(
    conn: sqlite3.Connection, *, kind: CauseKind, key: str, task_id: str
) -> None:
    """The task is also worth asking about when this tool or server comes."""
    conn.execute(
        "INSERT OR IGNORE INTO task_wake (kind, key, task_id) VALUES (?, ?, ?)",
        (kind, key, task_id),
    )


def forget_wakes(conn: sqlite3.Connection, task_id: str) -> None:
    """The task waits for nothing else any more."""
    conn.execute("DELETE FROM task_wake WHERE task_id = ?", (task_id,))


def retire_children(conn: sqlite3.Connection, parent_id: str) -> None:
    """A parent starts over: its children stay as history, out of its list."""
    conn.execute(
        "UPDATE task SET item_index = -rowid WHERE parent_id = ? AND item_index >= 0",
        (parent_id,),
    )
