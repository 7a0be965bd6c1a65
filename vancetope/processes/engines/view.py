"""What a template sees of a process: read from the store when it is looked at.

A `foreach` over ten thousand documents must not load ten thousand texts to use one,
so results come lazily, one by one.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import overload

import attrs

from vancetope.model.json import Json
from vancetope.model.status import TaskStatus
from vancetope.processes.workflows.definition import Workflow
from vancetope.store import Connection
from vancetope.store.queries import tasks


def _seen(status: TaskStatus, result: Json, error: dict[str, Json] | None) -> Json:
    """What dependents get: the result, or `{error}` of a task that failed."""
    if status is TaskStatus.FAILED:
        return {"error": error}
    return result


@attrs.frozen(eq=False)
class Items(Sequence[Json]):
    """The results of a `foreach` task's children, in order of their items."""

    _conn: Connection
    _parent_id: str

    def __len__(self) -> int:
        return tasks.child_count(self._conn, self._parent_id)

    @overload
    def __getitem__(self, index: int) -> Json: ...

    @overload
    def __getitem__(self, index: slice) -> list[Json]: ...

    def __getitem__(self, index: int | slice) -> Json:
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(len(self)))]
        wanted = index if index >= 0 else len(self) + index
        child = tasks.child_id(self._conn, self._parent_id, wanted)
        if wanted < 0 or child is None:
            raise IndexError(index)
        return _seen(*tasks.outcome(self._conn, child))


@attrs.frozen(eq=False)
class TaskView(Mapping[str, object]):
    """`tasks.KEY`: its `result`, `status` and `error`."""

    _conn: Connection
    _task_id: str
    _foreach: bool

    def __getitem__(self, name: str) -> object:
        status, result, error = tasks.outcome(self._conn, self._task_id)
        match name:
            case "status":
                return status.value
            case "error":
                return error
            case "result" if self._foreach and status is not TaskStatus.SKIPPED:
                return Items(self._conn, self._task_id)
            case "result":
                return _seen(status, result, error)
            case _:
                raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(("result", "status", "error"))

    def __len__(self) -> int:
        return 3


@attrs.frozen(eq=False)
class Tasks(Mapping[str, TaskView]):
    """`tasks`: every task of the workflow by its key."""

    _conn: Connection
    _process_id: str
    _workflow: Workflow

    def __getitem__(self, key: str) -> TaskView:
        node = self._workflow.task(key)
        found = tasks.by_key(self._conn, self._process_id, key)
        if found is None:
            raise KeyError(key)
        return TaskView(self._conn, found.id, node.foreach is not None)

    def __iter__(self) -> Iterator[str]:
        return (task.key for task in self._workflow.tasks)

    def __len__(self) -> int:
        return len(self._workflow.tasks)
