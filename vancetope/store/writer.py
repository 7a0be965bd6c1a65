"""The one writer: queued jobs, committed in groups.

There is no writer task.  The first caller that finds nobody writing leads: it runs a
batch of everything queued (its own job first), tells the others, and hands the lead to
the next one in the queue.  So there is nothing to supervise, and an error can only
reach a caller.

Order: a batch is committed; its events are published, in commit order; then the
callers go on.  Whoever wakes up by an event or by its own `write` finds the rows.
"""

import logging
from collections import deque
from collections.abc import Callable
from typing import Final, TypeVar, cast

import attrs
import trio

from vancetope.clock import Clock
from vancetope.errors import Unavailable
from vancetope.events import Bus
from vancetope.store.batch import Batch, Job
from vancetope.store.connection import CLOSE_SECONDS, Worker
from vancetope.store.tx import Tx

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: Jobs of one transaction: what the event loop has to tell and publish at one go.
BATCH_JOBS: Final = 256

#: Seconds after which a transaction takes no further job.
BATCH_SECONDS: Final = 0.02


@attrs.define(eq=False)
class _Place:
    """A caller's place in the queue."""

    job: Job
    task: trio.lowlevel.Task | None = None
    begun: bool = False
    withdrawn: bool = False

    def wake(self) -> None:
        task, self.task = self.task, None
        if task is not None:
            trio.lowlevel.reschedule(task)

    async def wait(self) -> None:
        """Wait for the outcome or the lead; only a job not begun can be taken back."""
        self.task = trio.lowlevel.current_task()

        def abort(_raise_cancel: object) -> trio.lowlevel.Abort:
            if self.begun:
                return trio.lowlevel.Abort.FAILED
            self.withdrawn, self.task = True, None
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(abort)


@attrs.define(eq=False)
class Writer:
    """Runs write functions on one connection, several to a transaction.

    Attributes:
        fault: why the last transaction failed, or None once one has succeeded.
    """

    _worker: Worker
    _clock: Clock
    _bus: Bus
    _batch_jobs: int = BATCH_JOBS
    _batch_seconds: float = BATCH_SECONDS
    fault: str | None = None
    _queue: deque[_Place] = attrs.field(factory=deque)
    _led: bool = False
    _closed: bool = False
    _idle: trio.Event = attrs.field(factory=trio.Event)

    async def write(self, fn: Callable[[Tx], T], *, long: bool = False) -> T:
        """Run `fn(tx)` in a transaction and return its value once it is committed.

        `fn` runs in the event loop, the commit on the writer's thread; one that is
        `long` runs there too.  It may run twice (when a neighbour loses the
        transaction for all), so it changes nothing but the database.  It raises to
        roll back.  It must not swallow a `sqlite3.Error`: the transaction may be gone.

        Cancellation takes back a job that was not begun; one that was is waited for,
        however long the disk takes, because its outcome must be known.

        Raises:
            Unavailable: nothing was written: the store is closed, or the disk failed.
            Exception: whatever `fn` raised; nothing of it was written.
        """
        if self._closed:
            raise _closed_error()
        place = _Place(Job(fn, long))
        self._queue.append(place)
        if self._led:
            await place.wait()
        else:
            self._led = True
            await self._gather(place)
        if not place.job.settled:
            await self._lead()
        return cast("T", place.job.outcome())

    async def _gather(self, place: _Place) -> None:
        """Let the tasks that are ready to run join the first batch."""
        try:
            await trio.lowlevel.checkpoint()
        except trio.Cancelled:
            place.withdrawn = True
            self._hand_over()
            raise

    async def _lead(self) -> None:
        places = self._take()
        batch = Batch([p.job for p in places], self._clock, self._batch_seconds)
        ran = False
        try:
            with trio.CancelScope(shield=True):
                await self._run(batch)
            ran = True
        except Exception:
            logger.exception("store.batch_broke")
        finally:
            if not ran:  # nobody may wait for ever
                for job in batch.jobs:
                    if not job.settled:
                        job.fail(_unknown_error())
            self._settle(places, batch)
            self._hand_over()

    async def _run(self, batch: Batch) -> None:
        """Stage the jobs here and commit on the thread.

        A thread that computes beside the loop waits for the interpreter's lock at
        every statement; a commit waits for the disk, and needs the lock only after.
        """
        if any(job.long for job in batch.jobs):
            await self._worker.run(batch.run)
        elif self._worker.here(batch.stage):
            await self._worker.run(batch.finish)
        elif batch.locked:
            batch.reopen()
            await self._worker.run(batch.run)

    def _take(self) -> list[_Place]:
        places: list[_Place] = []
        while self._queue and len(places) < self._batch_jobs:
            place = self._queue.popleft()
            if not place.withdrawn:
                place.begun = True
                places.append(place)
        return places

    def _settle(self, places: list[_Place], batch: Batch) -> None:
        if batch.fault is not None or batch.committed:
            self.fault = batch.fault
        try:
            self._bus.publish(batch.events)
        except Exception:
            # The rows are committed; a listener's fault is not the writers'.
            logger.exception("store.publish_failed")
        rest = [place for place in places if not place.job.settled]
        for place in places:
            if place.job.settled:
                place.wake()
            else:
                place.begun = False
        self._queue.extendleft(reversed(rest))

    def _hand_over(self) -> None:
        while self._queue and self._queue[0].withdrawn:
            self._queue.popleft()
        if self._queue:
            self._queue[0].wake()
            return
        self._led = False
        if self._closed:
            self._idle.set()

    @property
    def idle(self) -> bool:
        """Whether no job is queued or running."""
        return not self._led

    async def drain(self) -> None:
        """Take no new job; wait, within a bound, until the accepted ones have ended."""
        self._closed = True
        if self._led:
            with trio.move_on_after(CLOSE_SECONDS, shield=True):
                await self._idle.wait()


def _closed_error() -> Unavailable:
    return Unavailable("the store is closed", fix="Start the Brain again.")


def _unknown_error() -> Unavailable:
    return Unavailable(
        "the store cannot say whether this was written",
        fix="Look at the Brain's log, then ask again.",
    )
