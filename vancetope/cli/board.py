"""What is known of a process while one looks at it: its tasks, and how they changed."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import attrs

from vance_sdk.wire.messages import (
    Cause,
    Json,
    ProcessStatus,
    TaskList,
    TaskRow,
    TaskUpdate,
)

ENDED: Final = ("done", "failed", "stopped")
HELD: Final = ("blocked", "queued")
#: What ended without trouble.
PAST: Final = ("done", "skipped")
#: The order in which counts are shown.
ORDER: Final = (
    "done",
    "failed",
    "skipped",
    "cancelled",
    "running",
    "blocked",
    "queued",
    "pending",
)


@attrs.frozen(kw_only=True)
class Line:
    """A task as it is shown: a child of `foreach` stands in its parent's counts.

    Attributes:
        items: status -> how many children have it.
        reason: why it does not run.
    """

    task_id: str
    key: str
    goal: str
    status: str
    where: str
    reason: str
    items: dict[str, int]


@attrs.frozen(kw_only=True)
class Change:
    """A task has another status now."""

    task_id: str
    before: str
    status: str
    reason: str


@attrs.define(eq=False)
class Board:
    """One process and its tasks.

    Attributes:
        changes: what happened to tasks that are no children, since it was emptied.
        stale: something is known to have changed that only a new list can tell.
    """

    process_id: str
    status: str = "running"
    result: Json = None
    changes: list[Change] = attrs.field(factory=list)
    stale: bool = True
    _rows: dict[str, TaskRow] = attrs.field(factory=dict)
    _pages: list[TaskRow] = attrs.field(factory=list)

    @property
    def ended(self) -> bool:
        """Whether the process is over."""
        return self.status in ENDED

    def hear(self, frame: object) -> bool:
        """Take in a frame; tell whether it completed a list.

        One about another process is ignored.
        """
        match frame:
            case TaskList() if frame.think_process_id == self.process_id:
                self._pages += frame.tasks
                if not frame.more:
                    rows, self._pages = self._pages, []
                    self._replace(rows)
                    return True
            case ProcessStatus() if frame.think_process_id == self.process_id:
                self.status = frame.status
                self.result = frame.result
                self.stale = True
            case TaskUpdate() if frame.think_process_id == self.process_id:
                self._update(frame)
            case _:
                pass
        return False

    def _replace(self, rows: list[TaskRow]) -> None:
        before, self._rows = self._rows, {row.task_id: row for row in rows}
        for row in self._rows.values():
            old = before.get(row.task_id)
            self._note(row, "" if old is None else old.status)

    def lines(self) -> Iterator[Line]:
        """The tasks in order of execution, children counted."""
        children: dict[str, list[TaskRow]] = {}
        for row in self._rows.values():
            if row.parent is not None:
                children.setdefault(row.parent, []).append(row)
        for row in self._rows.values():
            if row.parent is None or row.parent not in self._rows:
                yield _line(row, children.get(row.task_id, []))

    def _update(self, frame: TaskUpdate) -> None:
        old = self._rows.get(frame.task_id)
        if old is None:
            self.stale = True
            return
        new = attrs.evolve(
            old,
            status=frame.status,
            blocked_reason=frame.blocked_reason,
            cause=frame.cause,
        )
        self._rows[frame.task_id] = new
        # Where it runs stands in the list only.
        self.stale = self.stale or new.where is None
        self._note(new, old.status)

    def _note(self, row: TaskRow, before: str) -> None:
        if row.parent is None and row.status != before:
            reason = row.blocked_reason or ""
            change = Change(
                task_id=row.task_id, before=before, status=row.status, reason=reason
            )
            self.changes.append(change)


def _line(row: TaskRow, children: list[TaskRow]) -> Line:
    counted = Counter(child.status for child in children)
    held = next((child for child in children if child.status in HELD), None)
    places = [child.where for child in children if child.where] or [row.where or ""]
    return Line(
        task_id=row.task_id,
        key=row.key,
        goal=row.goal,
        status=row.status,
        where=", ".join(dict.fromkeys(places)),
        reason=(held.blocked_reason if held else None) or _reason(row, row.cause),
        items={status: counted[status] for status in ORDER if counted[status]},
    )


def _reason(row: TaskRow, cause: Cause | None) -> str:
    if row.blocked_reason:
        return row.blocked_reason
    if row.status == "pending" and cause is not None and cause.kind != "ready":
        return "" if cause.kind == "children" else cause.what
    if row.status == "failed" and isinstance(row.result, dict):
        error = row.result.get("error")
        return str(error.get("message", "")) if isinstance(error, dict) else ""
    return ""


def counts(items: dict[str, int]) -> str:
    """`12 of 40 done, 28 blocked`."""
    total = sum(items.values())
    done = items.get("done", 0)
    rest = [f"{n} {status}" for status, n in items.items() if status != "done"]
    shown = [part for part in rest if not part.endswith(" pending")]
    return ", ".join([f"{done} of {total} done", *shown])
