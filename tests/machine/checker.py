"""What must hold after every step, asked of the database from outside.

Nothing here calls the code under test; the statements are written against the schema
and DESIGN section 5.
"""

import sqlite3
from collections.abc import Collection
from typing import Final

import attrs

from vancetope.model.status import (
    CallState as C,
)
from vancetope.model.status import (
    ProcessStatus as P,
)
from vancetope.model.status import (
    TaskStatus as T,
)
from vancetope.model.status import (
    may_move_call,
    may_move_process,
    may_move_task,
)

#: `(what is wrong, a query for the offending rows)`.
RULES: Final = (
    (
        "open_tasks is not the number of tasks that have not ended",
        (
            "SELECT id, open_tasks FROM process p WHERE open_tasks <>"
            " (SELECT count(*) FROM task WHERE process_id = p.id AND ended_at IS NULL)"
        ),
    ),
    (
        "open_deps is not the number of open dependencies",
        (
            "SELECT key, open_deps FROM task t WHERE ended_at IS NULL AND open_deps <>"
            " (SELECT count(*) FROM task_dep d JOIN task o ON o.id = d.on_task_id"
            "  WHERE d.task_id = t.id AND o.ended_at IS NULL)"
        ),
    ),
    (
        "the cause `dependency` and open dependencies do not go together",
        (
            "SELECT key, status, cause_kind FROM task WHERE ended_at IS NULL"
            " AND (open_deps > 0) <> (coalesce(cause_kind, '') = 'dependency')"
        ),
    ),
    (
        "the cause `dependency` names no open dependency",
        (
            "SELECT key, cause_key FROM task t WHERE cause_kind = 'dependency'"
            " AND NOT EXISTS (SELECT 1 FROM task_dep d JOIN task o ON o.id = d.on_task_id"
            "  WHERE d.task_id = t.id AND o.ended_at IS NULL AND o.key = t.cause_key)"
        ),
    ),
    (
        "the cause `children` without as many open children",
        (
            "SELECT key, open_children FROM task t WHERE cause_kind = 'children'"
            " AND (open_children = 0 OR open_children <>"
            "  (SELECT count(*) FROM task WHERE parent_id = t.id AND ended_at IS NULL))"
        ),
    ),
    (
        "an open subtask whose parent does not wait for it",
        (
            "SELECT c.key, p.status FROM task c JOIN task p ON p.id = c.parent_id"
            " WHERE c.ended_at IS NULL AND p.status <> 'running'"
            " AND coalesce(p.cause_kind, '') NOT IN ('children', 'ready', 'paused')"
        ),
    ),
    (
        "a status with a cause of another status",
        (
            "SELECT key, status, cause_kind FROM task WHERE cause_kind IS NOT NULL AND"
            " (status = 'pending') <>"
            " (cause_kind IN ('ready', 'dependency', 'children', 'paused'))"
        ),
    ),
    (
        "`ready` and `paused` do not follow the process",
        (
            "SELECT t.key, t.cause_kind, p.status FROM task t"
            " JOIN process p ON p.id = t.process_id"
            " WHERE (t.cause_kind = 'ready' AND p.status = 'paused')"
            " OR (t.cause_kind = 'paused' AND p.status <> 'paused')"
        ),
    ),
    (
        "an ended process with an open task",
        (
            "SELECT p.id, p.status, t.key FROM process p JOIN task t ON t.process_id = p.id"
            " WHERE p.ended_at IS NOT NULL AND t.ended_at IS NULL"
        ),
    ),
    (
        "a task with two open calls",
        (
            "SELECT task_id FROM call WHERE state IN"
            " ('parked', 'dispatched', 'accepted', 'unknown')"
            " GROUP BY task_id HAVING count(*) > 1"
        ),
    ),
    (
        "a call that does not fit its task",
        (
            "SELECT t.key, t.status, t.cause_kind, c.state FROM call c"
            " JOIN task t ON t.id = c.task_id WHERE CASE c.state"
            " WHEN 'parked' THEN t.status IN ('pending', 'blocked', 'queued')"
            "  AND t.cause_kind IN ('ready', 'paused', 'client_tool', 'server_tool')"
            " WHEN 'unknown' THEN t.cause_kind = 'outcome_unknown'"
            " WHEN 'dispatched' THEN t.status = 'running'"
            "  OR t.cause_kind IN ('ready', 'paused', 'client_tool', 'server_tool')"
            " WHEN 'accepted' THEN t.status = 'running'"
            "  OR t.cause_kind IN ('ready', 'paused', 'client_tool', 'server_tool')"
            " ELSE 1 END IS NOT 1"
        ),
    ),
    (
        "the cause `outcome_unknown` without an unknown call",
        (
            "SELECT key FROM task t WHERE cause_kind = 'outcome_unknown' AND NOT EXISTS"
            " (SELECT 1 FROM call WHERE task_id = t.id AND state = 'unknown')"
        ),
    ),
    (
        "unknown, and not `once`",
        "SELECT id, effect FROM call WHERE state = 'unknown' AND effect <> 'once'",
    ),
    (
        "an open process that nothing can bring on",
        (
            "SELECT p.id, p.status FROM process p WHERE p.open_tasks > 0 AND NOT EXISTS"
            " (SELECT 1 FROM task t WHERE t.process_id = p.id AND (t.status IN"
            "  ('running', 'blocked', 'queued') OR t.cause_kind IN ('ready', 'paused')))"
        ),
    ),
    (
        "the status of a process does not follow its tasks",
        (
            "SELECT id, status, expected FROM (SELECT p.id, p.status, CASE"
            " WHEN sum(t.status = 'running' OR coalesce(t.cause_kind = 'ready', 0))"
            "  THEN 'running' WHEN sum(t.status = 'blocked') THEN 'blocked'"
            " WHEN sum(t.status = 'queued') THEN 'waiting' END AS expected"
            " FROM process p JOIN task t ON t.process_id = p.id"
            " WHERE p.open_tasks > 0 AND p.status <> 'paused' GROUP BY p.id)"
            " WHERE status IS NOT expected"
        ),
    ),
    (
        "a note to wake a task that waits for no tool",
        (
            "SELECT t.key, t.status FROM task_wake w JOIN task t ON t.id = w.task_id"
            " WHERE coalesce(t.cause_kind, '') NOT IN ('client_tool', 'server_tool')"
        ),
    ),
    (
        "a call at a client that may not have it",
        (
            "SELECT c.id, s.id, p.session_id FROM call c"
            " JOIN session s ON s.id = c.session_id JOIN process p ON p.id = c.process_id"
            " WHERE CASE s.kind WHEN 'robot' THEN p.session_id IS NOT s.id"
            "  ELSE p.owner = 0 END"
        ),
    ),
    (
        "a process is done, but a task broke",
        (
            "SELECT p.id, t.key FROM process p JOIN task t ON t.process_id = p.id"
            " WHERE p.status = 'done' AND coalesce(t.item_index, 0) >= 0"
            " AND (t.status = 'cancelled'"
            "  OR (t.status = 'failed' AND t.continue_on_error = 0))"
        ),
    ),
)

_MOVES: Final = """
CREATE TEMP TABLE move (what TEXT, id TEXT, old TEXT, new TEXT);
CREATE TEMP TRIGGER task_moves AFTER UPDATE OF status ON main.task
WHEN OLD.status <> NEW.status BEGIN
    INSERT INTO move VALUES ('task', NEW.id, OLD.status, NEW.status);
END;
CREATE TEMP TRIGGER task_begins AFTER UPDATE OF status ON main.task
WHEN NEW.status = 'running' AND OLD.cause_kind IS NOT 'ready' BEGIN
    INSERT INTO move VALUES ('begun', NEW.id, OLD.status, OLD.cause_kind);
END;
CREATE TEMP TRIGGER task_ends_twice AFTER UPDATE OF status ON main.task
WHEN OLD.ended_at IS NOT NULL AND NEW.ended_at IS NOT NULL BEGIN
    INSERT INTO move VALUES ('ended again', NEW.id, OLD.status, NEW.status);
END;
CREATE TEMP TRIGGER process_moves AFTER UPDATE OF status ON main.process
WHEN OLD.status <> NEW.status BEGIN
    INSERT INTO move VALUES ('process', NEW.id, OLD.status, NEW.status);
END;
CREATE TEMP TRIGGER call_moves AFTER UPDATE OF state ON main.call
WHEN OLD.state <> NEW.state BEGIN
    INSERT INTO move VALUES ('call', NEW.id, OLD.state, NEW.state);
END;
"""


@attrs.define
class Watch:
    """Remembers what may not change, and how rows moved."""

    _ended: dict[str, tuple[str, str | None]] = attrs.field(factory=dict)
    _rows: int = 0

    def attach(self, conn: sqlite3.Connection) -> None:
        """Note every move of a row on this connection."""
        for statement in _MOVES.split(";\nCREATE"):
            text = statement.strip()
            conn.execute(text if text.startswith("CREATE") else f"CREATE {text}")

    def problems(
        self,
        conn: sqlite3.Connection,
        in_hand: Collection[str],
        effects: dict[str, int],
    ) -> list[str]:
        """Everything that is wrong now, in words.

        Args:
            conn: the connection under watch.
            in_hand: ids of the tasks that have a step under way.
            effects: how often each call had its effect.
        """
        found = [
            f"{text}: {tuple(row)}"
            for text, query in RULES
            for row in conn.execute(query)
        ]
        found += [f"a move: {move}" for move in self._wrong_moves(conn)]
        found += self._wrong_running(conn, in_hand)
        found += self._changed_calls(conn)
        rows = conn.execute("SELECT count(*) FROM task").fetchone()[0]
        if rows < self._rows:
            found.append(f"{self._rows - rows} tasks are gone")
        self._rows = rows
        once = conn.execute("SELECT id FROM call WHERE effect = 'once'")
        found += [
            f"a once call acted {effects[row[0]]} times: {row[0]}"
            for row in once
            if effects.get(row[0], 0) > 1
        ]
        return found

    def _wrong_moves(self, conn: sqlite3.Connection) -> list[tuple[str, ...]]:
        moves = [tuple(row) for row in conn.execute("SELECT * FROM temp.move")]
        conn.execute("DELETE FROM temp.move")
        return [
            move
            for move in moves
            if not (
                (move[0] == "task" and may_move_task(T(move[2]), T(move[3])))
                or (move[0] == "process" and may_move_process(P(move[2]), P(move[3])))
                or (move[0] == "call" and may_move_call(C(move[2]), C(move[3])))
            )
        ]

    def _wrong_running(
        self, conn: sqlite3.Connection, in_hand: Collection[str]
    ) -> list[str]:
        rows = conn.execute(
            "SELECT id, key FROM task t WHERE status = 'running' AND NOT EXISTS"
            " (SELECT 1 FROM call WHERE task_id = t.id"
            "  AND state IN ('dispatched', 'accepted'))"
        )
        return [
            f"running, but nobody runs it: {row['key']}"
            for row in rows
            if row["id"] not in in_hand
        ]

    def _changed_calls(self, conn: sqlite3.Connection) -> list[str]:
        rows = conn.execute(
            "SELECT id, state, result FROM call WHERE ended_at IS NOT NULL"
        )
        now = {row["id"]: (row["state"], row["result"]) for row in rows}
        changed = [
            f"an ended call changed: {call_id} was {was}, is {now.get(call_id)}"
            for call_id, was in self._ended.items()
            if now.get(call_id) != was
        ]
        self._ended = now
        return changed
