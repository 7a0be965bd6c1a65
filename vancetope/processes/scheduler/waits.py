"""What wakes a held task: exactly those that wait for what has come are ready again."""

from collections.abc import Callable, Sequence
from typing import Final

import attrs

from vancetope.model.records import ProcessRecord, TaskRecord
from vancetope.model.status import CauseKind
from vancetope.processes.flow import Flow
from vancetope.store.db import Tx
from vancetope.store.queries import processes, tasks

#: The first page is small, so that the first call leaves at once.
FIRST_PAGE: Final = 32
PAGE: Final = 125

MayWake = Callable[[ProcessRecord], bool]


@attrs.frozen(kw_only=True)
class Page:
    """One transaction's worth of tasks made ready.

    Attributes:
        last: id of the last task that was looked at; "" when there are no more.
        woken: how many were made ready.
    """

    last: str
    woken: int


def keys_of(tools: Sequence[str], client: str) -> list[str]:
    """The cause keys that a client's offer of these tools answers."""
    return [*tools, *(f"{tool}@{client}" for tool in tools)]


def wake(
    tx: Tx,
    kind: CauseKind,
    keys: Sequence[str],
    may_wake: MayWake,
    *,
    after: str,
    limit: int,
) -> Page:
    """Make the next tasks that wait for one of these keys ready.

    Args:
        tx: the transaction.
        kind: `client_tool` or `server_tool`.
        keys: what has come.
        may_wake: whether what has come serves this process.
        after: id of the last task of the page before.
        limit: how many tasks to look at.
    """
    found = tasks.waiting_for(tx.conn, kind, keys, after, limit)
    by_process: dict[str, list[TaskRecord]] = {}
    for task in found:
        by_process.setdefault(task.process_id, []).append(task)
    woken = 0
    for process_id, waiting in by_process.items():
        process = processes.get(tx.conn, process_id)
        if process is None or not may_wake(process):
            continue
        with Flow.of(tx, process_id) as flow:
            for task in waiting:
                flow.ready(task)
        woken += len(waiting)
    return Page(last=found[-1].id if len(found) == limit else "", woken=woken)
