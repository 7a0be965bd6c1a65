"""The end of a process: its result is made outside, its status inside a transaction."""

import logging
from collections.abc import Mapping

import attrs

from vancetope.errors import BrainError
from vancetope.model.json import Json
from vancetope.model.records import TaskRecord
from vancetope.model.status import (
    PROCESS_ENDED,
    TASK_ENDED,
    ProcessStatus,
    TaskStatus,
)
from vancetope.processes import calls
from vancetope.processes.engines.base import Engine
from vancetope.processes.flow import Flow
from vancetope.store.db import Store, Tx
from vancetope.store.queries import processes, tasks
from vancetope.tools.outcome import Failed, FailureCode

logger = logging.getLogger(__name__)


@attrs.define(eq=False)
class Concluder:
    """Asks the engine for the result and writes it."""

    store: Store
    engines: Mapping[str, Engine]

    async def conclude(self, process_id: str) -> None:
        """Write the final result, or the partial one of a process that waits."""
        process = self.store.read(lambda conn: processes.get(conn, process_id))
        if process is None or process.status in PROCESS_ENDED:
            return
        engine = self.engines[process.engine]
        try:
            made = await self.store.query(lambda conn: engine.conclude(conn, process))
        except BrainError:
            raise
        except Exception:
            # A process that cannot say what it has found is over all the same.
            logger.exception("process.conclude_broke %s", process_id)
            made = Failed(code=FailureCode.FAILED, message="The result broke")
        await self.store.write(lambda tx: _conclude(tx, process_id, made))

    async def fail_task(self, task: TaskRecord, code: str, message: str) -> None:
        """End a task whose step broke in a way nobody foresaw."""

        def fail(tx: Tx) -> None:
            now = tasks.get(tx.conn, task.id)
            if now is None or now.status in TASK_ENDED:
                return
            with Flow.of(tx, task.process_id) as flow:
                error: dict[str, Json] = {"code": code, "message": message}
                calls.cancel(flow, now)
                flow.end(now, TaskStatus.FAILED, error=error)

        await self.store.write(fail)


def _conclude(tx: Tx, process_id: str, made: Json | Failed) -> None:
    """Nothing happens when the process has gone on in the meantime."""
    process = processes.get(tx.conn, process_id)
    if process is None or process.status in PROCESS_ENDED:
        return
    result = made.as_error() if isinstance(made, Failed) else made
    if process.open_tasks > 0:
        if process.status is ProcessStatus.WAITING:
            processes.set_result(tx.conn, process_id, result)
        return
    broke = process.has_failed or isinstance(made, Failed)
    processes.set_result(tx.conn, process_id, result)
    with Flow.of(tx, process_id) as flow:
        flow.set_status(ProcessStatus.FAILED if broke else ProcessStatus.DONE)
