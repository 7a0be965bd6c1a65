"""What happens because time has passed: deadlines, resume windows, start_within.

Deadlines of calls and resume windows are durations on the monotonic clock (D5);
`start_within` is an instant on the wall clock, since people write it for the night.
"""

import heapq
import logging
import math
from functools import partial
from typing import Final

import attrs
import trio

from vancetope.clock import Clock
from vancetope.config.durations import format_duration
from vancetope.errors import BrainError
from vancetope.model.records import CallRecord
from vancetope.processes import calls as call_rows
from vancetope.store.db import Store
from vancetope.store.queries import calls, tasks
from vancetope.tools.router import Router

logger = logging.getLogger(__name__)

#: The wall clock may jump, so it is looked at no later than this.
WALL_LOOK_S: Final = 60.0
#: Before another try, while the store cannot be written.
RETRY_S: Final = 1.0
#: A client that drops has this long to come back before others get its safe calls.
#: An SDK client is back within a second, if it can be.
GRACE_S: Final = 5.0


@attrs.define(eq=False)
class Timers:
    """One task that sleeps until the next thing is due."""

    store: Store
    clock: Clock
    router: Router
    resume_window_s: float
    _due: list[tuple[float, int, str, str]] = attrs.field(factory=list, init=False)
    _live: dict[str, int] = attrs.field(factory=dict, init=False)
    _count: int = attrs.field(default=0, init=False)
    _wake: trio.Event = attrs.field(factory=trio.Event, init=False)

    def call_sent(self, call: CallRecord) -> None:
        """The call's `timeout` begins."""
        self._set("call", call.id, call.timeout_ms / 1000)

    def call_over(self, call_id: str) -> None:
        """The call has a result."""
        self._live.pop(f"call {call_id}", None)

    def session_left(self, session_id: str) -> None:
        """The resume window begins, and in it a moment for the client alone."""
        self._set("grace", session_id, GRACE_S)
        self._set("session", session_id, self.resume_window_s)

    def session_back(self, session_id: str) -> None:
        """The session was resumed in time."""
        self._live.pop(f"grace {session_id}", None)
        self._live.pop(f"session {session_id}", None)

    def look(self) -> None:
        """Some task has a `start_within` that may be the next thing due."""
        self._wake.set()

    def _set(self, kind: str, key: str, after_s: float) -> None:
        self._count += 1
        self._live[f"{kind} {key}"] = self._count
        entry = (trio.current_time() + after_s, self._count, kind, key)
        heapq.heappush(self._due, entry)
        if self._due[0] is entry:
            self._wake.set()

    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Wait and act until cancelled."""
        task_status.started()
        while True:
            self._wake = trio.Event()
            with trio.move_on_after(self._seconds_left()):
                await self._wake.wait()
            try:
                await self._act()
            except BrainError as exc:  # the store cannot be written just now
                logger.warning("timers.postponed: %s", exc)
                await trio.sleep(RETRY_S)
            except Exception:
                logger.exception("timers.broke")
                await trio.sleep(RETRY_S)

    def _seconds_left(self) -> float:
        self._forget_dead()
        left = self._due[0][0] - trio.current_time() if self._due else math.inf
        start_by = self.store.read(tasks.next_start_by)
        if start_by is not None:
            until = (start_by - self.clock.now_ms()) / 1000
            left = min(left, until, WALL_LOOK_S)
        return max(0.0, left)

    def _forget_dead(self) -> None:
        while self._due:
            _, count, kind, key = self._due[0]
            if self._live.get(f"{kind} {key}") == count:
                return
            heapq.heappop(self._due)

    async def _act(self) -> None:
        while True:
            self._forget_dead()
            if not self._due or self._due[0][0] > trio.current_time():
                break
            _, count, kind, key = self._due[0]
            try:
                await self._due_now(kind, key)
            except BrainError:
                raise
            except Exception:
                logger.exception("timers.broke: %s %s", kind, key)
            if self._live.get(f"{kind} {key}") == count:  # not set anew meanwhile
                del self._live[f"{kind} {key}"]
        now = self.clock.now_ms()
        for task in self.store.read(lambda conn: tasks.past_start_by(conn, now)):
            await self.store.write(partial(call_rows.expire, task_id=task.id))

    async def _due_now(self, kind: str, key: str) -> None:
        match kind:
            case "call":
                await self._overdue(key)
            case "grace":
                self._others_may(key)
            case _:
                await self._lapsed(key)

    def _others_may(self, session_id: str) -> None:
        """What its client did not finish may go to others that are there (D3)."""
        lost = self.store.read(lambda conn: calls.at_work(conn, session_id))
        self.router.clients.remind({call.tool for call in lost})

    async def _overdue(self, call_id: str) -> None:
        call = self.store.read(lambda conn: calls.get(conn, call_id))
        if call is not None:
            after = format_duration(call.timeout_ms)
            await self.store.write(lambda tx: call_rows.overdue(tx, call_id, after))
        self.router.release(call_id)

    async def _lapsed(self, session_id: str) -> None:
        await self.store.write(lambda tx: call_rows.window_ended(tx, session_id))
