"""Sessions, what their clients offered, and the events they are owed."""

import sqlite3
from typing import Final

from vancetope.events import Event
from vancetope.model.json import loads
from vancetope.model.records import SessionRecord

_COLUMNS: Final = (
    "id, principal, kind, project_id, profile, client_key, client_id, client_name,"
    " client_type, journal_id, epoch, connected, created_at, seen_at, closed_at"
)


def _record(row: sqlite3.Row) -> SessionRecord:
    values = {name: row[name] for name in row.keys()}  # noqa: SIM118 - sqlite3.Row
    return SessionRecord(**{**values, "connected": bool(row["connected"])})


def get(conn: sqlite3.Connection, session_id: str) -> SessionRecord | None:
    """The session of this id."""
    row = conn.execute(
        f"SELECT {_COLUMNS} FROM session WHERE id = ?", (session_id,)
    ).fetchone()
    return _record(row) if row else None


def newest_unbound(
    conn: sqlite3.Connection,
    *,
    principal: str,
    project_id: str,
    profile: str,
    client_key: str,
    client_id: str,
    seen_after: int,
    dropped_before: int,
) -> SessionRecord | None:
    """The newest resumable session nobody is connected to.

    One whose client has just dropped is that client's alone until `dropped_before`.
    """
    row = conn.execute(
        f"SELECT {_COLUMNS} FROM session WHERE principal = ? AND project_id = ?"
        " AND profile = ? AND closed_at IS NULL AND connected = 0 AND seen_at > ?"
        " AND (client_key = ? OR client_id = ? OR dropped_at IS NULL"
        "  OR dropped_at < ?)"
        " ORDER BY seen_at DESC, id DESC LIMIT 1",
        (
            principal,
            project_id,
            profile,
            seen_after,
            client_key,
            client_id,
            dropped_before,
        ),
    ).fetchone()
    return _record(row) if row else None


def of_principal(
    conn: sqlite3.Connection, principal: str | None
) -> list[SessionRecord]:
    """The sessions of one principal (None: everyone's), newest first."""
    only = "" if principal is None else " AND principal = ?"
    rows = conn.execute(
        f"SELECT {_COLUMNS} FROM session WHERE closed_at IS NULL{only}"
        " ORDER BY seen_at DESC, id DESC",
        () if principal is None else (principal,),
    )
    return [_record(row) for row in rows]


def insert(conn: sqlite3.Connection, record: SessionRecord) -> None:
    """A new session."""
    conn.execute(
        f"INSERT INTO session ({_COLUMNS}) VALUES ({', '.join('?' * 15)})",
        (
            record.id,
            record.principal,
            record.kind,
            record.project_id,
            record.profile,
            record.client_key,
            record.client_id,
            record.client_name,
            record.client_type,
            record.journal_id,
            record.epoch,
            int(record.connected),
            record.created_at,
            record.seen_at,
            record.closed_at,
        ),
    )


def attach(conn: sqlite3.Connection, record: SessionRecord) -> None:
    """A client is on this session again: its identity, the next epoch."""
    conn.execute(
        "UPDATE session SET client_key = ?, client_id = ?, client_name = ?,"
        " client_type = ?, journal_id = ?, epoch = ?, connected = 1, seen_at = ?,"
        " dropped_at = NULL WHERE id = ?",
        (
            record.client_key,
            record.client_id,
            record.client_name,
            record.client_type,
            record.journal_id,
            record.epoch,
            record.seen_at,
            record.id,
        ),
    )


def detach(
    conn: sqlite3.Connection,
    session_id: str,
    epoch: int,
    now_ms: int,
    *,
    close: bool,
    dropped: bool,
) -> bool:
    """The connection of this epoch is gone; False when a newer one took over.

    `dropped`: without a `disconnect`, so that the client may be back at any moment.
    """
    cursor = conn.execute(
        "UPDATE session SET connected = 0, seen_at = ?, dropped_at = ?, closed_at = ?"
        " WHERE id = ? AND epoch = ?",
        (
            now_ms,
            now_ms if dropped else None,
            now_ms if close else None,
            session_id,
            epoch,
        ),
    )
    return cursor.rowcount == 1


def close(conn: sqlite3.Connection, session_id: str, now_ms: int) -> None:
    """Nobody can resume the session any more."""
    conn.execute("UPDATE session SET closed_at = ? WHERE id = ?", (now_ms, session_id))


def unbound_robots(conn: sqlite3.Connection) -> list[str]:
    """The open sessions of robots that are not connected."""
    rows = conn.execute(
        "SELECT id FROM session WHERE kind = 'robot' AND connected = 0"
        " AND closed_at IS NULL ORDER BY id"
    )
    return [row[0] for row in rows]


def detach_all(conn: sqlite3.Connection, now_ms: int) -> list[str]:
    """At boot nobody is connected; the ids of the sessions that seemed to be."""
    rows = conn.execute(
        "UPDATE session SET connected = 0, dropped_at = ? WHERE connected = 1"
        " RETURNING id",
        (now_ms,),
    ).fetchall()
    return [row[0] for row in rows]


def remember_offer(
    conn: sqlite3.Connection,
    *,
    principal: str,
    client_key: str,
    tool: str,
    type_: str,
    mcp_server: str | None,
    description: str,
    now_ms: int,
) -> None:
    """This client has offered this tool once."""
    conn.execute(
        "INSERT INTO offer (tool, principal, client_key, type, mcp_server, description,"
        " first_at, last_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (tool, principal, client_key) DO UPDATE SET type = excluded.type,"
        " mcp_server = excluded.mcp_server, description = excluded.description,"
        " last_at = excluded.last_at",
        (tool, principal, client_key, type_, mcp_server, description, now_ms, now_ms),
    )


def remembered_offer(
    conn: sqlite3.Connection, tool: str, client_key: str | None = None
) -> sqlite3.Row | None:
    """The newest remembered offer of a tool, by this client if one is named."""
    only = "" if client_key is None else " AND client_key = ?"
    row: sqlite3.Row | None = conn.execute(
        "SELECT principal, client_key, tool, type, mcp_server, description, last_at"
        f" FROM offer WHERE tool = ?{only} ORDER BY last_at DESC LIMIT 1",
        (tool,) if client_key is None else (tool, client_key),
    ).fetchone()
    return row


def remembered_tools(conn: sqlite3.Connection) -> list[sqlite3.Row]:
    """Every tool any client has ever offered, with who did last."""
    return conn.execute(
        "SELECT tool, client_key, type, description, max(last_at) AS last_at FROM offer"
        " GROUP BY tool ORDER BY tool"
    ).fetchall()


def last_seq(conn: sqlite3.Connection) -> int:
    """The newest event's number; 0 when there is none."""
    row = conn.execute("SELECT max(seq) FROM event").fetchone()
    return int(row[0] or 0)


def events_after(
    conn: sqlite3.Connection, project_id: str, seq: int, limit: int
) -> list[Event]:
    """The next events of a project."""
    rows = conn.execute(
        "SELECT seq, at, kind, project_id, session_id, process_id, task_id, body"
        " FROM event WHERE project_id = ? AND seq > ? ORDER BY seq LIMIT ?",
        (project_id, seq, limit),
    )
    return [
        Event(
            seq=row["seq"],
            at=row["at"],
            kind=row["kind"],
            project_id=row["project_id"],
            session_id=row["session_id"],
            process_id=row["process_id"],
            task_id=row["task_id"],
            body=None if row["body"] is None else loads(row["body"]),
        )
        for row in rows
    ]
