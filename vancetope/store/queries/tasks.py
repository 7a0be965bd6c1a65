"""The task tree: what is read of it."""

import sqlite3
from collections.abc import Sequence
from typing import Final

from vancetope.model.cause import Cause
from vancetope.model.json import Json, loads
from vancetope.model.records import TaskRecord
from vancetope.model.status import CauseKind, TaskStatus

_COLUMNS: Final = (
    "id, process_id, parent_id, node, key, goal, tool, rank, item_index,"
    " continue_on_error, open_deps, open_children, status, cause_kind, cause_what,"
    " cause_key, cause_since, wakes_on, side, start_by, started_at, ended_at"
)
READY: Final = "status = 'pending' AND cause_kind = 'ready'"


_WAITS_FOR: Final = (
    "SELECT id FROM task WHERE cause_kind IN ('client_tool', 'server_tool')"
    " AND cause_kind = ? AND cause_key = ? AND id > ? ORDER BY id LIMIT ?"
)
_ALSO_WAITS_FOR: Final = (
    "SELECT task_id FROM task_wake WHERE kind = ? AND key = ? AND task_id > ?"
    " ORDER BY task_id LIMIT ?"
)


def _record(row: sqlite3.Row) -> TaskRecord:
    return TaskRecord(
        id=row["id"],
        process_id=row["process_id"],
        parent_id=row["parent_id"],
        node=row["node"],
        key=row["key"],
        goal=row["goal"],
        tool=row["tool"],
        rank=row["rank"],
        item_index=row["item_index"],
        continue_on_error=bool(row["continue_on_error"]),
        open_deps=row["open_deps"],
        open_children=row["open_children"],
        status=TaskStatus(row["status"]),
        cause=_cause(row),
        side=row["side"],
        start_by=row["start_by"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
    )


def _cause(row: sqlite3.Row) -> Cause | None:
    if row["cause_kind"] is None:
        return None
    return Cause(
        kind=CauseKind(row["cause_kind"]),
        what=row["cause_what"],
        key=row["cause_key"],
        wakes_on=row["wakes_on"],
        since=row["cause_since"],
    )


def get(conn: sqlite3.Connection, task_id: str) -> TaskRecord | None:
    """The task of this id."""
    row = conn.execute(
        f"SELECT {_COLUMNS} FROM task WHERE id = ?", (task_id,)
    ).fetchone()
    return _record(row) if row else None


def by_key(conn: sqlite3.Connection, process_id: str, key: str) -> TaskRecord | None:
    """The task of this key (the workflow's own id, `read[3]` for an item)."""
    row = conn.execute(
        f"SELECT {_COLUMNS} FROM task WHERE process_id = ? AND key = ?",
        (process_id, key),
    ).fetchone()
    return _record(row) if row else None


def of_process(conn: sqlite3.Connection, process_id: str) -> list[TaskRecord]:
    """Every task of a process in execution order, planned ones included."""
    rows = conn.execute(
        f"SELECT {_COLUMNS} FROM task WHERE process_id = ?"
        " AND (item_index IS NULL OR item_index >= 0) ORDER BY rank, id",
        (process_id,),
    )
    return [_record(row) for row in rows]


def outcome(
    conn: sqlite3.Connection, task_id: str
) -> tuple[TaskStatus, Json, dict[str, Json] | None]:
    """A task's `(status, result, error)`.

    Raises:
        KeyError: there is no such task.
    """
    row = conn.execute(
        "SELECT status, result, error FROM task WHERE id = ?", (task_id,)
    ).fetchone()
    if row is None:
        raise KeyError(task_id)
    error = loads(row["error"]) if row["error"] is not None else None
    return (
        TaskStatus(row["status"]),
        loads(row["result"]) if row["result"] is not None else None,
        error if isinstance(error, dict) else None,
    )


def item(conn: sqlite3.Connection, task_id: str) -> Json:
    """The `foreach` item a task works on; None for a plain task."""
    row = conn.execute("SELECT item FROM task WHERE id = ?", (task_id,)).fetchone()
    return loads(row["item"]) if row and row["item"] is not None else None


def child_id(conn: sqlite3.Connection, parent_id: str, index: int) -> str | None:
    """The id of the `index`-th child."""
    row = conn.execute(
        "SELECT id FROM task WHERE parent_id = ? AND item_index = ?", (parent_id, index)
    ).fetchone()
    return row["id"] if row else None


def child_count(conn: sqlite3.Connection, parent_id: str) -> int:
    """How many children a task has, ended ones included."""
    row = conn.execute(
        "SELECT count(*) FROM task WHERE parent_id = ? AND item_index >= 0",
        (parent_id,),
    ).fetchone()
    return int(row[0])


def open_child_count(conn: sqlite3.Connection, parent_id: str) -> int:
    """How many children of a task have not ended."""
    row = conn.execute(
        "SELECT count(*) FROM task WHERE parent_id = ? AND ended_at IS NULL",
        (parent_id,),
    ).fetchone()
    return int(row[0])


def any_child_broke(conn: sqlite3.Connection, parent_id: str) -> bool:
    """Whether a child failed or was cancelled and that is not to be overlooked."""
    row = conn.execute(
        "SELECT 1 FROM task WHERE parent_id = ? AND item_index >= 0"
        " AND continue_on_error = 0"
        " AND status IN ('failed', 'cancelled') LIMIT 1",
        (parent_id,),
    ).fetchone()
    return row is not None


def children(
    conn: sqlite3.Connection, parent_id: str, *, open_only: bool = False
) -> list[TaskRecord]:
    """A task's children in order."""
    only = " AND ended_at IS NULL" if open_only else ""
    rows = conn.execute(
        f"SELECT {_COLUMNS} FROM task WHERE parent_id = ? AND item_index >= 0{only}"
        " ORDER BY item_index",
        (parent_id,),
    )
    return [_record(row) for row in rows]


def ready(
    conn: sqlite3.Connection, process_id: str, node: str, limit: int
) -> list[TaskRecord]:
    """The first `limit` ready tasks of one lane, in execution order."""
    rows = conn.execute(
        f"SELECT {_COLUMNS} FROM task WHERE process_id = ? AND node = ? AND {READY}"
        " ORDER BY rank LIMIT ?",
        (process_id, node, limit),
    )
    return [_record(row) for row in rows]


def ready_lanes(
    conn: sqlite3.Connection, process_id: str | None = None
) -> list[tuple[str, str]]:
    """Every `(process_id, node)` that has a ready task; all processes by default."""
    only = "" if process_id is None else " AND process_id = ?"
    rows = conn.execute(
        f"SELECT DISTINCT process_id, node FROM task WHERE {READY}{only}",
        () if process_id is None else (process_id,),
    )
    return [(row[0], row[1]) for row in rows]


def running(
    conn: sqlite3.Connection, process_id: str | None = None
) -> list[TaskRecord]:
    """Every running task, of one process or of all."""
    only = "" if process_id is None else " AND process_id = ?"
    rows = conn.execute(
        f"SELECT {_COLUMNS} FROM task WHERE status = 'running'{only}",
        () if process_id is None else (process_id,),
    )
    return [_record(row) for row in rows]


def with_status(
    conn: sqlite3.Connection, process_id: str, status: TaskStatus
) -> list[TaskRecord]:
    """The tasks of a process that are in this status, in execution order."""
    rows = conn.execute(
        f"SELECT {_COLUMNS} FROM task WHERE process_id = ? AND status = ? ORDER BY rank",
        (process_id, status),
    )
    return [_record(row) for row in rows]


def of_session_with_cause(
    conn: sqlite3.Connection, session_id: str, kind: CauseKind
) -> list[TaskRecord]:
    """The tasks, held for this cause, of the processes that a session started."""
    rows = conn.execute(
        # CROSS JOIN: from the few open processes, not through every task.
        f"SELECT {_prefixed('t')} FROM process p CROSS JOIN task t"
        " ON t.process_id = p.id WHERE p.session_id = ? AND p.ended_at IS NULL"
        " AND t.status IN ('blocked', 'queued') AND t.cause_kind = ? ORDER BY t.id",
        (session_id, kind),
    )
    return [_record(row) for row in rows]


def with_cause(conn: sqlite3.Connection, kind: CauseKind) -> list[TaskRecord]:
    """Every task that waits for a tool, `client_tool` or `server_tool`."""
    rows = conn.execute(
        f"SELECT {_COLUMNS} FROM task WHERE cause_kind IN ('client_tool', 'server_tool')"
        " AND cause_kind = ? ORDER BY id",
        (kind,),
    )
    return [_record(row) for row in rows]


def waiting_for(
    conn: sqlite3.Connection,
    kind: CauseKind,
    keys: Sequence[str],
    after: str,
    limit: int,
) -> list[TaskRecord]:
    """The next tasks that wait for one of these tools, in order of their ids.

    Args:
        kind: `client_tool` or `server_tool`.
        keys: tools, `tool@client` addresses, or names of servers.
        after: the last id of the page before; "" for the first.
        limit: how many at the most.
    """
    # A query a key: each is a walk along an index that stops at `limit`, where one
    # for all keys would sort everything that waits.
    ids: set[str] = set()
    for key in keys:
        for query in (_WAITS_FOR, _ALSO_WAITS_FOR):
            found = conn.execute(query, (kind, key, after, limit))
            ids.update(row[0] for row in found)
    page = sorted(ids)[:limit]
    marks = ",".join("?" * len(page))
    rows = conn.execute(
        f"SELECT {_COLUMNS} FROM task WHERE id IN ({marks}) ORDER BY id", page
    )
    return [_record(row) for row in rows]


def any_ready(conn: sqlite3.Connection, process_id: str) -> bool:
    """Whether the process has a task that could run now."""
    row = conn.execute(
        f"SELECT 1 FROM task WHERE process_id = ? AND {READY} LIMIT 1", (process_id,)
    ).fetchone()
    return row is not None


def any_running(conn: sqlite3.Connection, process_id: str) -> bool:
    """Whether the process has a task that is running."""
    row = conn.execute(
        "SELECT 1 FROM task WHERE process_id = ? AND status = 'running' LIMIT 1",
        (process_id,),
    ).fetchone()
    return row is not None


def any_held(conn: sqlite3.Connection, process_id: str, status: TaskStatus) -> bool:
    """Whether the process has a task that is `blocked` (or `queued`)."""
    return first_held(conn, process_id, status) is not None


def first_held(
    conn: sqlite3.Connection, process_id: str, status: TaskStatus
) -> TaskRecord | None:
    """The first task of a process that is `blocked` (or `queued`)."""
    row = conn.execute(
        f"SELECT {_COLUMNS} FROM task WHERE process_id = ? AND status = ?"
        " AND status IN ('blocked', 'queued') LIMIT 1",
        (process_id, status),
    ).fetchone()
    return _record(row) if row else None


def next_start_by(conn: sqlite3.Connection) -> int | None:
    """The earliest instant at which some task's wait for a client is over."""
    row = conn.execute(
        "SELECT min(start_by) FROM task WHERE start_by IS NOT NULL"
    ).fetchone()
    return None if row[0] is None else int(row[0])


def past_start_by(conn: sqlite3.Connection, now_ms: int) -> list[TaskRecord]:
    """The tasks whose wait for a client is over."""
    rows = conn.execute(
        f"SELECT {_COLUMNS} FROM task WHERE start_by IS NOT NULL AND start_by <= ?",
        (now_ms,),
    )
    return [_record(row) for row in rows]


def last_rank(conn: sqlite3.Connection, process_id: str) -> float:
    """The rank of the last task of a process; 0 when it has none."""
    row = conn.execute(
        "SELECT max(rank) FROM task WHERE process_id = ?", (process_id,)
    ).fetchone()
    return float(row[0] or 0.0)


def rank_before(conn: sqlite3.Connection, process_id: str, rank: float) -> float | None:
    """The largest rank below `rank` in the process."""
    row = conn.execute(
        "SELECT max(rank) FROM task WHERE process_id = ? AND rank < ?",
        (process_id, rank),
    ).fetchone()
    return None if row[0] is None else float(row[0])


def dependents(conn: sqlite3.Connection, task_id: str) -> list[tuple[TaskRecord, bool]]:
    """The tasks that wait for this one, each with whether it uses the result."""
    rows = conn.execute(
        f"SELECT {_prefixed('t')}, d.uses AS uses FROM task_dep d"
        " JOIN task t ON t.id = d.task_id WHERE d.on_task_id = ?",
        (task_id,),
    )
    return [(_record(row), bool(row["uses"])) for row in rows]


def freed_or_misled(
    conn: sqlite3.Connection, task_id: str, key: str
) -> list[TaskRecord]:
    """Dependents without an open dependency, or whose cause names this one."""
    rows = conn.execute(
        f"SELECT {_prefixed('t')} FROM task_dep d JOIN task t ON t.id = d.task_id"
        " WHERE d.on_task_id = ? AND t.ended_at IS NULL AND t.status = 'pending'"
        " AND t.cause_kind = 'dependency' AND (t.open_deps = 0 OR t.cause_key = ?)",
        (task_id, key),
    )
    return [_record(row) for row in rows]


def dependencies(conn: sqlite3.Connection, task_id: str) -> list[TaskRecord]:
    """The tasks this one waits for."""
    rows = conn.execute(
        f"SELECT {_prefixed('t')} FROM task_dep d JOIN task t ON t.id = d.on_task_id"
        " WHERE d.task_id = ? ORDER BY t.rank",
        (task_id,),
    )
    return [_record(row) for row in rows]


def last_open_dependency(conn: sqlite3.Connection, task_id: str) -> str | None:
    """The key of the last task, in execution order, this one waits for."""
    row = conn.execute(
        "SELECT t.key FROM task_dep d JOIN task t ON t.id = d.on_task_id"
        " WHERE d.task_id = ? AND t.ended_at IS NULL ORDER BY t.rank DESC LIMIT 1",
        (task_id,),
    ).fetchone()
    return row[0] if row else None


def _prefixed(alias: str) -> str:
    return ", ".join(f"{alias}.{name.strip()}" for name in _COLUMNS.split(","))
