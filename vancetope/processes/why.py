"""Why a task is not done: its cause, followed to the root."""

import attrs

from vancetope.model.cause import Cause
from vancetope.model.records import TaskRecord
from vancetope.model.status import TASK_ENDED, CauseKind, TaskStatus
from vancetope.store import Connection
from vancetope.store.queries import calls, sessions, tasks

#: A chain is as long as the tree is deep; past this it is cut.
CHAIN_LIMIT = 100


@attrs.frozen(kw_only=True)
class Why:
    """The answer: one readable text and the causes from the task to the root."""

    task: TaskRecord
    text: str
    chain: tuple[Cause, ...]


def why(conn: Connection, task: TaskRecord) -> Why:
    """Follow a task's cause to what really holds it."""
    chain: list[Cause] = []
    lines: list[str] = []
    seen: set[str] = set()
    now: TaskRecord | None = task
    while now is not None and now.id not in seen and len(chain) < CHAIN_LIMIT:
        seen.add(now.id)
        if now.cause is None:
            lines.append(_not_waiting(conn, now))
            break
        chain.append(now.cause)
        lines.append(f"{now.key} is {now.status}: {now.cause.what}")
        following = _next(conn, now)
        if following is None:
            lines.append(_root(conn, now))
        now = following
    return Why(
        task=task, text=". ".join(line for line in lines if line), chain=tuple(chain)
    )


def _next(conn: Connection, task: TaskRecord) -> TaskRecord | None:
    """The task this one waits for, if it waits for a task."""
    if task.cause is None:
        return None
    if task.cause.kind is CauseKind.DEPENDENCY and task.cause.key is not None:
        return tasks.by_key(conn, task.process_id, task.cause.key)
    if task.cause.kind is CauseKind.CHILDREN:
        children = tasks.children(conn, task.id, open_only=True)
        held = (
            c for c in children if c.status in (TaskStatus.BLOCKED, TaskStatus.QUEUED)
        )
        return next(held, children[0] if children else None)
    return None


def _not_waiting(conn: Connection, task: TaskRecord) -> str:
    if task.status in TASK_ENDED:
        _, _, error = tasks.outcome(conn, task.id)
        reason = f": {error['message']}" if error and "message" in error else ""
        return f"{task.key} is {task.status}{reason}"
    where = f" on {task.side}" if task.side else ""
    return f"{task.key} is running{where}"


def _root(conn: Connection, task: TaskRecord) -> str:
    """What is known about the thing waited for, and what ends the wait."""
    cause = task.cause
    if cause is None:
        return ""
    parts = []
    if cause.kind is CauseKind.CLIENT_TOOL and cause.key:
        parts.append(_last_offer(conn, cause.key))
    call = calls.open_of_task(conn, task.id)
    if call is not None:
        parts.append(f"Decision: {call.reason}")
    if cause.wakes_on:
        parts.append(f"Goes on when {cause.wakes_on}")
    return ". ".join(part for part in parts if part)


def _last_offer(conn: Connection, key: str) -> str:
    tool, _, client = key.partition("@")
    row = sessions.remembered_offer(conn, tool, client or None)
    if row is None:
        return f"No client has offered {tool} yet"
    return f"Last offered by client {row['client_key']}"
