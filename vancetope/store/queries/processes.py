"""Think processes and the projects they belong to."""

import sqlite3
from typing import Final

from vancetope.model.json import Json, JsonObject, dumps, loads
from vancetope.model.records import ProcessRecord, Project
from vancetope.model.status import PROCESS_ENDED, ProcessStatus

_COLUMNS: Final = (
    "id, project_id, session_id, principal, owner, title, goal, engine, workflow_id,"
    " recipe, connection_profile, autonomous, pin, served_by, status, open_tasks,"
    " has_failed, created_at, changed_at, ended_at"
)


def _record(row: sqlite3.Row) -> ProcessRecord:
    return ProcessRecord(
        id=row["id"],
        project_id=row["project_id"],
        session_id=row["session_id"],
        principal=row["principal"],
        owner=bool(row["owner"]),
        title=row["title"],
        goal=row["goal"],
        engine=row["engine"],
        workflow_id=row["workflow_id"],
        recipe=row["recipe"],
        connection_profile=row["connection_profile"],
        autonomous=bool(row["autonomous"]),
        pin=row["pin"],
        served_by=row["served_by"],
        status=ProcessStatus(row["status"]),
        open_tasks=row["open_tasks"],
        has_failed=bool(row["has_failed"]),
        created_at=row["created_at"],
        changed_at=row["changed_at"],
        ended_at=row["ended_at"],
    )


def get(conn: sqlite3.Connection, process_id: str) -> ProcessRecord | None:
    """The process of this id."""
    row = conn.execute(
        f"SELECT {_COLUMNS} FROM process WHERE id = ?", (process_id,)
    ).fetchone()
    return _record(row) if row else None


def standing(conn: sqlite3.Connection, process_id: str) -> tuple[ProcessStatus, int]:
    """A process's `(status, open_tasks)`.

    Raises:
        KeyError: there is no such process.
    """
    row = conn.execute(
        "SELECT status, open_tasks FROM process WHERE id = ?", (process_id,)
    ).fetchone()
    if row is None:
        raise KeyError(process_id)
    return ProcessStatus(row[0]), row[1]


def by_idempotency_key(
    conn: sqlite3.Connection, principal: str, key: str
) -> ProcessRecord | None:
    """The process this principal started under this key."""
    row = conn.execute(
        f"SELECT {_COLUMNS} FROM process WHERE principal = ? AND idempotency_key = ?",
        (principal, key),
    ).fetchone()
    return _record(row) if row else None


def listed(
    conn: sqlite3.Connection,
    *,
    ended_after: int | None,
    project_id: str | None = None,
    principal: str | None = None,
) -> list[ProcessRecord]:
    """Open processes and those that ended after an instant (None: all), newest last."""
    where, values = ["(ended_at IS NULL OR ended_at > ?)"], [ended_after or -1]
    clauses: list[tuple[str, str | None]] = [
        ("project_id = ?", project_id),
        ("principal = ?", principal),
    ]
    params: list[str | int] = list(values)
    for clause, value in clauses:
        if value is not None:
            where.append(clause)
            params.append(value)
    rows = conn.execute(
        f"SELECT {_COLUMNS} FROM process WHERE {' AND '.join(where)}"
        " ORDER BY created_at, id",
        params,
    )
    return [_record(row) for row in rows]


def definition(
    conn: sqlite3.Connection, process_id: str
) -> tuple[JsonObject, JsonObject]:
    """The `(definition, input)` a process was started with.

    Raises:
        KeyError: there is no such process.
    """
    row = conn.execute(
        "SELECT definition, input FROM process WHERE id = ?", (process_id,)
    ).fetchone()
    if row is None:
        raise KeyError(process_id)
    plan, given = loads(row["definition"]), loads(row["input"])
    return (
        plan if isinstance(plan, dict) else {},
        given if isinstance(given, dict) else {},
    )


def result(conn: sqlite3.Connection, process_id: str) -> Json:
    """The result so far: final when the process has ended, else partial or None."""
    row = conn.execute(
        "SELECT result FROM process WHERE id = ?", (process_id,)
    ).fetchone()
    return loads(row["result"]) if row and row["result"] is not None else None


def pending_tasks(conn: sqlite3.Connection, process_id: str) -> int:
    """How many tasks are pending, blocked or queued (seed 003, `pending_tasks`)."""
    row = conn.execute(
        "SELECT count(*) FROM task WHERE process_id = ?"
        " AND status IN ('pending', 'blocked', 'queued')",
        (process_id,),
    ).fetchone()
    return int(row[0])


def insert(
    conn: sqlite3.Connection,
    record: ProcessRecord,
    *,
    definition: JsonObject,
    given: JsonObject,
    idempotency_key: str | None,
) -> None:
    """A new process."""
    conn.execute(
        f"INSERT INTO process ({_COLUMNS}, definition, input, idempotency_key)"
        f" VALUES ({', '.join('?' * 23)})",
        (
            record.id,
            record.project_id,
            record.session_id,
            record.principal,
            int(record.owner),
            record.title,
            record.goal,
            record.engine,
            record.workflow_id,
            record.recipe,
            record.connection_profile,
            int(record.autonomous),
            record.pin,
            record.served_by,
            record.status,
            record.open_tasks,
            int(record.has_failed),
            record.created_at,
            record.changed_at,
            record.ended_at,
            dumps(definition),
            dumps(given),
            idempotency_key,
        ),
    )


def set_status(
    conn: sqlite3.Connection, process_id: str, status: ProcessStatus, now_ms: int
) -> None:
    """Where the process stands now."""
    conn.execute(
        "UPDATE process SET status = ?, changed_at = ?, ended_at = ? WHERE id = ?",
        (status, now_ms, now_ms if status in PROCESS_ENDED else None, process_id),
    )


def set_result(conn: sqlite3.Connection, process_id: str, value: Json) -> None:
    """The final or partial result."""
    conn.execute(
        "UPDATE process SET result = ? WHERE id = ?",
        (None if value is None else dumps(value), process_id),
    )


def add_open_tasks(conn: sqlite3.Connection, process_id: str, count: int) -> None:
    """Change the number of tasks that have not ended by `count`."""
    conn.execute(
        "UPDATE process SET open_tasks = open_tasks + ? WHERE id = ?",
        (count, process_id),
    )


def set_has_failed(conn: sqlite3.Connection, process_id: str, *, failed: bool) -> None:
    """Whether some task broke in a way that fails the process in the end."""
    conn.execute(
        "UPDATE process SET has_failed = ? WHERE id = ?", (int(failed), process_id)
    )


def set_served_by(conn: sqlite3.Connection, process_id: str, client_key: str) -> None:
    """Which client got the last call of this process."""
    conn.execute(
        "UPDATE process SET served_by = ? WHERE id = ? AND served_by IS NOT ?",
        (client_key, process_id, client_key),
    )


def open_ids(conn: sqlite3.Connection) -> list[str]:
    """Every process that has not ended, oldest first."""
    rows = conn.execute(
        "SELECT id FROM process WHERE ended_at IS NULL ORDER BY created_at"
    )
    return [row[0] for row in rows]


def ensure_project(
    conn: sqlite3.Connection, project_id: str, name: str, now_ms: int
) -> Project:
    """The project of this id, made if it is new."""
    conn.execute(
        "INSERT OR IGNORE INTO project (id, name, created_at) VALUES (?, ?, ?)",
        (project_id, name, now_ms),
    )
    found = project(conn, project_id)
    assert found is not None  # noqa: S101 - inserted above, in this transaction
    return found


def project(conn: sqlite3.Connection, project_id: str) -> Project | None:
    """The project of this id."""
    row = conn.execute(
        "SELECT id, name, created_at FROM project WHERE id = ?", (project_id,)
    ).fetchone()
    return Project(**row) if row else None


def projects(conn: sqlite3.Connection) -> list[Project]:
    """Every project, oldest first."""
    rows = conn.execute(
        "SELECT id, name, created_at FROM project ORDER BY created_at, id"
    )
    return [Project(**row) for row in rows]
