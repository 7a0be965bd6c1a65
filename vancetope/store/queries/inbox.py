"""What waits for a person."""

import sqlite3

from vancetope.model.records import TaskRecord
from vancetope.store.queries import tasks


def waiting_for_person(
    conn: sqlite3.Connection, project_id: str | None, principal: str | None
) -> list[tuple[TaskRecord, str, str]]:
    """`(task, project id, process title)` of what a person must decide, oldest first.

    Args:
        conn: a connection.
        project_id: only of this project.
        principal: only what this principal started.
    """
    where = ["t.status = 'blocked'", "t.cause_kind IN ('approval', 'outcome_unknown')"]
    values = []
    if project_id is not None:
        where.append("p.project_id = ?")
        values.append(project_id)
    if principal is not None:
        where.append("p.principal = ?")
        values.append(principal)
    rows = conn.execute(
        "SELECT t.id AS id, p.project_id AS project_id, p.title AS title FROM task t"
        f" JOIN process p ON p.id = t.process_id WHERE {' AND '.join(where)}"
        " ORDER BY t.cause_since, t.id",
        values,
    ).fetchall()
    found = [
        (tasks.get(conn, row["id"]), row["project_id"], row["title"]) for row in rows
    ]
    return [
        (task, project, title) for task, project, title in found if task is not None
    ]
