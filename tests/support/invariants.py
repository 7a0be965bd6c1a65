"""What must hold after every single transaction, checked from outside by SQL."""

import sqlite3

import attrs

#: (what is wrong, a query whose rows show it)
RULES = [
    (
        "an open task that is not running has exactly one cause, any other has none",
        """SELECT key, status, cause_kind FROM task
        WHERE (status IN ('pending', 'blocked', 'queued')) != (cause_kind IS NOT NULL)
        OR (cause_kind IS NOT NULL AND (cause_what = '' OR wakes_on = ''))""",
    ),
    (
        "blocked and queued tasks wait for something outside, pending ones inside",
        """SELECT key, status, cause_kind FROM task WHERE cause_kind IS NOT NULL AND
        (status = 'pending') !=
        (cause_kind IN ('ready', 'dependency', 'children', 'paused'))""",
    ),
    (
        "open_tasks counts the tasks that have not ended",
        """SELECT p.id, p.open_tasks, count(t.id) FROM process p LEFT JOIN task t
        ON t.process_id = p.id AND t.ended_at IS NULL
        GROUP BY p.id HAVING p.open_tasks != count(t.id)""",
    ),
    (
        "a parent that waits counts its open children, and has some",
        """SELECT p.key, p.open_children, count(c.id) FROM task p LEFT JOIN task c
        ON c.parent_id = p.id AND c.ended_at IS NULL WHERE p.cause_kind = 'children'
        GROUP BY p.id HAVING p.open_children != count(c.id) OR count(c.id) = 0""",
    ),
    (
        "a task that waits for others counts those that have not ended, and has some",
        """SELECT t.key, t.open_deps, count(o.id) FROM task t
        LEFT JOIN task_dep d ON d.task_id = t.id
        LEFT JOIN task o ON o.id = d.on_task_id AND o.ended_at IS NULL
        WHERE t.cause_kind = 'dependency'
        GROUP BY t.id HAVING t.open_deps != count(o.id) OR count(o.id) = 0""",
    ),
    (
        "the dependency named as the cause has not ended",
        """SELECT t.key, t.cause_key FROM task t JOIN task o
        ON o.process_id = t.process_id AND o.key = t.cause_key
        WHERE t.cause_kind = 'dependency' AND o.ended_at IS NOT NULL""",
    ),
    (
        "nothing runs before what it depends on has ended",
        """SELECT t.key, o.key FROM task t JOIN task_dep d ON d.task_id = t.id
        JOIN task o ON o.id = d.on_task_id
        WHERE o.ended_at IS NULL AND (t.status NOT IN ('pending', 'skipped', 'cancelled')
        OR t.cause_kind IN ('ready', 'children'))""",
    ),
    (
        "a call that is not over belongs to a task that has not ended",
        """SELECT t.key, t.status, c.state FROM call c JOIN task t ON t.id = c.task_id
        WHERE c.state IN ('parked', 'dispatched', 'accepted', 'unknown')
        AND t.ended_at IS NOT NULL""",
    ),
    (
        "a running call has a running or held task, a parked one does not run",
        """SELECT t.key, t.status, c.state FROM call c JOIN task t ON t.id = c.task_id
        WHERE c.state = 'parked' AND t.status = 'running'""",
    ),
    (
        "outcome_unknown stands exactly where the call is unknown",
        """SELECT t.key, t.cause_kind, c.state FROM task t JOIN call c
        ON c.task_id = t.id
        AND c.state IN ('parked', 'dispatched', 'accepted', 'unknown')
        WHERE (c.state = 'unknown') != (coalesce(t.cause_kind, '') = 'outcome_unknown')""",
    ),
    (
        "a running task with a tool has a call at work (a parent makes children)",
        """SELECT t.key FROM task t WHERE t.status = 'running' AND t.side IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM call c WHERE c.task_id = t.id
        AND c.state IN ('dispatched', 'accepted'))""",
    ),
    (
        "an ended process has no open task",
        """SELECT p.id, p.status, t.key FROM process p JOIN task t
        ON t.process_id = p.id AND t.ended_at IS NULL WHERE p.ended_at IS NOT NULL""",
    ),
    (
        "a process is blocked or waiting only when nothing in it goes on",
        """SELECT p.id, p.status, t.key, t.status, t.cause_kind FROM process p JOIN task t
        ON t.process_id = p.id WHERE p.status IN ('blocked', 'waiting') AND
        (t.status = 'running' OR t.cause_kind = 'ready'
        OR (p.status = 'waiting' AND t.status = 'blocked'))""",
    ),
    (
        "no task of a paused process is ready, and only of those has cause paused",
        """SELECT p.status, t.key, t.cause_kind FROM process p JOIN task t
        ON t.process_id = p.id WHERE
        (p.status = 'paused' AND t.cause_kind = 'ready')
        OR (p.status != 'paused' AND t.cause_kind = 'paused')""",
    ),
]

#: Bigger trees are looked at in full only now and then.
FULL_CHECK_TASKS = 200
NOW_AND_THEN = 50


@attrs.define
class Invariants:
    """Looks at the tables and keeps what it did not like."""

    violations: list[str] = attrs.field(factory=list)
    _looks: int = 0
    _ended: dict[str, tuple[str, str | None]] = attrs.field(factory=dict)

    def check(self, conn: sqlite3.Connection) -> None:
        self._looks += 1
        size = conn.execute("SELECT count(*) FROM task").fetchone()[0]
        if size > FULL_CHECK_TASKS and self._looks % NOW_AND_THEN:
            return
        for what, query in RULES:
            rows = [tuple(row) for row in conn.execute(query)]
            if rows:
                self.violations.append(f"{what}: {rows[:5]}")
        self._calls_stay_ended(conn)

    def _calls_stay_ended(self, conn: sqlite3.Connection) -> None:
        """I3: the first terminal state of a call is its last."""
        rows = conn.execute(
            "SELECT id, state, result FROM call WHERE ended_at IS NOT NULL"
        ).fetchall()
        for row in rows:
            now = (row["state"], row["result"])
            before = self._ended.setdefault(row["id"], now)
            if before != now:
                self.violations.append(f"call {row['id']} went from {before} to {now}")
        missing = set(self._ended) - {row["id"] for row in rows}
        if missing:
            self.violations.append(f"ended calls are open again: {missing}")
