"""A `foreach` becomes children, some hundreds in a transaction.

A crash in between leaves a running parent with some of them; the step is made again
and adds what is missing.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

import attrs
import trio

from vancetope.clock import Clock
from vancetope.errors import Unavailable
from vancetope.model import cause as causes
from vancetope.model import ids
from vancetope.model.json import Json
from vancetope.model.records import TaskRecord
from vancetope.model.status import ProcessStatus, TaskStatus
from vancetope.processes.engines.base import PlannedTask
from vancetope.processes.flow import Flow
from vancetope.store.db import Store, Tx
from vancetope.store.queries import processes, task_writes, tasks

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: Children made in one transaction.
FAN_CHUNK: Final = 250
#: Children of one `foreach`.
FAN_LIMIT: Final = 10_000
#: Between two tries to write what nobody else would write.
RETRY_S: Final = 1.0


async def write_in_the_end(store: Store, job: Callable[[Tx], T]) -> T:
    """Write what a step has begun: nobody else would finish it."""
    while True:
        try:
            return await store.write(job)
        except Unavailable as exc:
            logger.warning("step.write_postponed: %s", exc)
            await trio.sleep(RETRY_S)


@attrs.define(eq=False)
class Fan:
    """Makes the children of a task."""

    store: Store
    clock: Clock

    async def out(self, task: TaskRecord, node: PlannedTask, items: list[Json]) -> None:
        """Claim the task, make a child for each item, and let it wait for them."""
        if not await self.store.write(lambda tx: _claim(tx, task)):
            return
        for start in range(0, len(items), FAN_CHUNK):
            add = partial(
                self._add_children,
                parent=task,
                node=node,
                start=start,
                items=items[start : start + FAN_CHUNK],
                total=len(items),
            )
            await write_in_the_end(self.store, add)
        await write_in_the_end(self.store, lambda tx: _children_made(tx, task))

    def _add_children(
        self,
        tx: Tx,
        parent: TaskRecord,
        node: PlannedTask,
        start: int,
        items: list[Json],
        total: int,
    ) -> None:
        """Children stand right behind their parent in the execution order."""
        now = tasks.get(tx.conn, parent.id)
        if now is None or now.status is not TaskStatus.RUNNING:
            return
        added = 0
        with Flow.of(tx, parent.process_id) as flow:
            paused = flow.process.status is ProcessStatus.PAUSED
            for index, item in enumerate(items, start):
                added += task_writes.insert(
                    tx.conn,
                    task_id=ids.new_id(ids.TASK, self.clock),
                    process_id=parent.process_id,
                    parent_id=parent.id,
                    node=node.node,
                    key=f"{node.node}[{index}]",
                    goal=node.goal,
                    tool=node.tool,
                    rank=now.rank + (index + 1) / (total + 1),
                    item=item,
                    item_index=index,
                    continue_on_error=node.continue_on_error,
                    open_deps=0,
                    cause=causes.PAUSED if paused else causes.READY,
                    now_ms=tx.now_ms,
                )
            processes.add_open_tasks(tx.conn, parent.process_id, added)
            flow.lane_ready(node.node)


def _claim(tx: Tx, task: TaskRecord) -> bool:
    with Flow.of(tx, task.process_id) as flow:
        return flow.claim(task, None)


def _children_made(tx: Tx, parent: TaskRecord) -> None:
    now = tasks.get(tx.conn, parent.id)
    if now is None or now.status is not TaskStatus.RUNNING:
        return
    with Flow.of(tx, parent.process_id) as flow:
        flow.wait_for_children(now)
