"""The scheduler: picks ready tasks, lets their steps run, wakes what waited.

It holds nothing that the store does not have: lanes are hints, and every step checks
in its own transaction that the task is still ready.
"""

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, TypeVar

import attrs
import trio

from vancetope.errors import BrainError
from vancetope.events import Bus, Event, Subscription
from vancetope.model.json import Json
from vancetope.model.records import ProcessRecord, TaskRecord
from vancetope.model.status import CauseKind, ProcessStatus
from vancetope.processes import flow
from vancetope.processes.commands import start
from vancetope.processes.conclude import Concluder
from vancetope.processes.scheduler import waits
from vancetope.processes.scheduler.desk import facts_of
from vancetope.processes.scheduler.lanes import FIRST_LOOK, TURN, Lane, Lanes
from vancetope.processes.scheduler.steps import Sent, Steps
from vancetope.processes.scheduler.timers import Timers
from vancetope.store.db import Store
from vancetope.store.queries import processes, tasks
from vancetope.tools import clients as connected
from vancetope.tools.clients import may_serve
from vancetope.tools.router import SERVER

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: Steps under way at once; each is short, since no step waits for a tool.
STEPS_AT_ONCE: Final = 64
#: Before a lane whose step could not be committed is looked at again.
RETRY_S: Final = 1.0


@attrs.define(eq=False)
class Scheduler:
    """One supervised task, with a child for every step that is under way.

    Attributes:
        own_only: run nothing but what was started since this Brain began (one that
            was started for a single run leaves all other processes alone).
        own: what was started since this Brain began.
    """

    store: Store
    bus: Bus
    steps: Steps
    timers: Timers
    concluder: Concluder
    own_only: bool = False
    own: set[str] = attrs.field(factory=set, init=False)
    _lanes: Lanes = attrs.field(factory=Lanes, init=False)
    _at_once: int = attrs.field(default=0, init=False)

    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Schedule until cancelled."""
        kinds = (
            start.STARTED,
            flow.LANE_READY,
            flow.CONCLUDE,
            connected.CHANGED,
            connected.WINDOW_FREED,
        )
        with self.bus.subscribe(*kinds) as news:
            async with trio.open_nursery() as nursery:
                self._look_at_everything(nursery)
                self._begin_ready(nursery)
                task_status.started()
                await self._listen(news, nursery)

    def serves(self, process_id: str) -> bool:
        """Whether this Brain runs this process."""
        return not self.own_only or process_id in self.own

    def own_at_work(self) -> bool:
        """Whether something started here goes on without anybody's help."""
        found = map(self._process, self.own)
        return any(one and one.status is ProcessStatus.RUNNING for one in found)

    def _look_at_everything(self, nursery: trio.Nursery) -> None:
        """What a boot, or a loss of hints, has to look at again."""
        for lane in self.store.read(tasks.ready_lanes):
            self._add(lane)
        for process_id in self.store.read(processes.open_ids):
            process = self._process(process_id)
            if process is not None and (
                process.open_tasks == 0 or process.status is ProcessStatus.WAITING
            ):
                nursery.start_soon(self._conclude, process_id)

    def _process(self, process_id: str) -> ProcessRecord | None:
        return self.store.read(lambda conn: processes.get(conn, process_id))

    async def _listen(self, news: Subscription, nursery: trio.Nursery) -> None:
        while True:
            events = await news.wait()
            if news.overflowed:
                news.overflowed = False
                self._lanes.release_all()
                self._look_at_everything(nursery)
                for client in self.steps.desk.clients.all():
                    nursery.start_soon(
                        self._client_brings, client.session_id, [*client.offers]
                    )
            for event in events:
                self._hear(event, nursery)
            self._begin_ready(nursery)

    def _hear(self, event: Event, nursery: trio.Nursery) -> None:
        body = event.body
        process_id = event.process_id or ""
        match event.kind:
            case flow.LANE_READY:
                self._add((process_id, str(body)))
            case flow.CONCLUDE:
                nursery.start_soon(self._conclude, process_id)
            case start.STARTED:
                if self.own_only:
                    self.own.add(process_id)
            case connected.CHANGED:
                self._lanes.release_all()
                gained = _strings(body, "gained")
                if gained:
                    session_id = event.session_id or ""
                    nursery.start_soon(self._client_brings, session_id, gained)
            case connected.WINDOW_FREED:
                self._lanes.freed(event.session_id or SERVER)
            case _:
                pass

    def _add(self, lane: Lane) -> None:
        if self.serves(lane[0]):
            self._lanes.add(lane)

    def _begin_ready(self, nursery: trio.Nursery) -> None:
        """Begin as many steps as may be under way, one lane after the other."""
        while self._at_once < STEPS_AT_ONCE and (lane := self._lanes.next()):
            self._begin_lane(lane, nursery)

    def _begin_lane(self, lane: Lane, nursery: trio.Nursery) -> None:
        in_hand = self._lanes.in_hand(lane)
        limit = min(self._appetite(lane, len(in_hand)), STEPS_AT_ONCE - self._at_once)
        if limit <= 0:
            if in_hand:
                self._lanes.rest(lane)
            return
        found = self.store.read(
            lambda conn: tasks.ready(conn, *lane, limit + len(in_hand))
        )
        fresh = [task for task in found if task.id not in in_hand][:limit]
        if len(fresh) < limit:
            self._lanes.drop(lane)
        for task in fresh:
            self._lanes.take(lane, task.id)
            self._at_once += 1
            nursery.start_soon(self._step, lane, task, nursery)

    def _appetite(self, lane: Lane, in_hand: int) -> int:
        """How many steps to begin: no more than the lane's last place has room for."""
        place = self._lanes.last_place(lane)
        room = None if place is None else self.steps.room(place)
        if place is None or room is None:
            return FIRST_LOOK - in_hand
        if room > 0:
            return min(TURN, room - in_hand)
        self._lanes.hold(lane, place)
        return 0

    async def _step(self, lane: Lane, task: TaskRecord, nursery: trio.Nursery) -> None:
        sent: Sent | None = None
        again = False
        try:
            sent = await self.steps.run(task)
        except BrainError as exc:  # the store cannot be written just now
            logger.warning("task.step_postponed %s: %s", task.id, exc)
            await trio.sleep(RETRY_S)
            again = True
        except Exception:
            logger.exception("task.step_broke %s", task.id)
            await self._until_written(
                lambda: self.concluder.fail_task(task, "internal", "The step broke"),
                task.id,
            )
        finally:
            self._lanes.put_back(lane, task.id)
            self._at_once -= 1
        if sent is not None and sent.full:
            self._lanes.hold(lane, sent.place)
            if self.steps.room(sent.place) != 0:  # freed, or gone, in the meantime
                self._lanes.freed(sent.place)
        elif sent is not None:
            self._lanes.went_to(lane, sent.place)
        elif again:
            self._lanes.add(lane)
        self._begin_ready(nursery)

    async def _conclude(self, process_id: str) -> None:
        if self.serves(process_id):
            await self._until_written(
                lambda: self.concluder.conclude(process_id), f"conclude {process_id}"
            )

    async def _until_written(
        self, job: Callable[[], Awaitable[T]], what: str
    ) -> T | None:
        """Do what nobody else will do again, however long the disk is full.

        Returns:
            What `job` gave; None when it broke, which is one process's misfortune.
        """
        while True:
            try:
                return await job()
            except BrainError as exc:
                logger.warning("write.postponed %s: %s", what, exc)
                await trio.sleep(RETRY_S)
            except Exception:
                logger.exception("write.broke %s", what)
                return None

    async def _client_brings(self, session_id: str, tools: list[str]) -> None:
        """Make ready what waits for these tools and may be served by this client."""
        client = self.steps.desk.clients.by_session(session_id)
        if client is None:
            return

        def may(process: ProcessRecord) -> bool:
            return self.serves(process.id) and may_serve(client, facts_of(process))

        keys = waits.keys_of(tools, client.key)
        await self._wake_all(CauseKind.CLIENT_TOOL, keys, may)

    async def _wake_all(
        self, kind: CauseKind, keys: list[str], may: waits.MayWake
    ) -> None:
        after, limit = "", waits.FIRST_PAGE
        while True:
            job = partial(waits.wake, kind=kind, keys=keys, may_wake=may)
            write = partial(self.store.write, partial(job, after=after, limit=limit))
            page = await self._until_written(write, f"wake {kind}")
            if page is None or not page.last:
                return
            after, limit = page.last, waits.PAGE


def _field(body: Json, name: str) -> Json:
    return body.get(name) if isinstance(body, dict) else None


def _strings(body: Json, name: str) -> list[str]:
    value = _field(body, name)
    return (
        [item for item in value if isinstance(item, str)]
        if isinstance(value, list)
        else []
    )
