"""A Brain without Trio: the real store functions, scheduler and commands by hand.

Everything asynchronous in the Brain awaits the store and nothing else, so its
coroutines can be driven by hand: each is suspended after every write it makes, as if
other tasks ran between the commit and the moment its caller hears of it.
"""

import random
import shutil
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar, cast

import attrs
import pytest
import trio

from tests.machine.checker import Watch
from tests.machine.devices import Device
from vancetope.clock import ManualClock
from vancetope.events import Bus, Event
from vancetope.model import ids
from vancetope.model.principal import Principal
from vancetope.model.records import CallRecord, ProcessRecord, TaskRecord
from vancetope.model.status import CauseKind
from vancetope.model.tool import Effect, Location, Prefer, Strategy, ToolSpec
from vancetope.processes import calls as call_rows
from vancetope.processes.commands.sessions import (
    Arrival,
    leave,
    open_session,
    remember_offers,
)
from vancetope.processes.commands.start import Starter, StartRequest
from vancetope.processes.conclude import Concluder
from vancetope.processes.engines.workflow import WorkflowEngine
from vancetope.processes.recovery import recover
from vancetope.processes.scheduler import steps, waits
from vancetope.processes.scheduler.desk import Desk
from vancetope.processes.scheduler.loop import Scheduler
from vancetope.processes.scheduler.steps import Steps
from vancetope.processes.scheduler.timers import Timers
from vancetope.processes.workflows.definition import Workflow
from vancetope.processes.workflows.library import WorkflowLibrary
from vancetope.store import Connection, opening
from vancetope.store.batch import Batch, Job, Tx
from vancetope.store.db import Store
from vancetope.store.queries import sessions
from vancetope.store.reading import snapshot
from vancetope.tools.clients import Clients, ConnectedClient
from vancetope.tools.outcome import Outcome
from vancetope.tools.registry import Offer, Registry
from vancetope.tools.router import Router
from vancetope.tools.routing import ServerState
from vancetope.tools.servers import Servers

T = TypeVar("T")

SERVER_WINDOW = 2
CLIENT_WINDOW = 2

REGISTRY = Registry(
    {
        spec.name: spec
        for spec in (
            ToolSpec(name="s_read", location=Location.SERVER, effect=Effect.READ),
            ToolSpec(name="s_once", location=Location.SERVER),
            ToolSpec(
                name="m_idem",
                location=Location.SERVER,
                effect=Effect.IDEMPOTENT,
                mcp_server="mcp",
            ),
            ToolSpec(name="c_read", location=Location.CLIENT, effect=Effect.READ),
            ToolSpec(
                name="c_idem",
                location=Location.CLIENT,
                effect=Effect.IDEMPOTENT,
                offline_strategy=Strategy.FALLBACK,
                fallback_tool="s_once",
            ),
            ToolSpec(name="c_once", location=Location.CLIENT),
            ToolSpec(name="both", location=Location.BOTH, prefer=Prefer.CLIENT),
        )
    }
)
CLIENT_TOOLS = ("c_read", "c_idem", "c_once", "both", "c_free")
SERVER_TOOLS = ("s_read", "s_once", "m_idem")


@types.coroutine
def _others_run() -> Generator[None, None, None]:
    yield


class SyncStore:
    """`Store` over one connection in this thread; suspended after every write."""

    def __init__(self, path: Path, clock: ManualClock, bus: Bus) -> None:
        self.clock, self.bus = clock, bus
        self.conn = opening.connect_writer(path)
        opening.prepare(self.conn, clock=clock)
        self.conn.execute("PRAGMA synchronous = OFF")  # crashes here lose memory only

    def now(self, fn: Callable[[Tx], T]) -> T:
        """Write in one transaction, at once."""
        job = Job(fn)
        batch = Batch([job], self.clock, seconds=0)
        batch.run(self.conn)
        self.bus.publish(batch.events)
        return cast("T", job.outcome())

    async def write(self, fn: Callable[[Tx], T]) -> T:
        value = self.now(fn)
        await _others_run()
        return value

    def read(self, fn: Callable[[Connection], T]) -> T:
        return snapshot(self.conn, fn)

    async def query(self, fn: Callable[[Connection], T]) -> T:
        value = self.read(fn)
        await _others_run()
        return value


class Ear(Bus):
    """A bus with one listener, which hears at once."""

    def __init__(self) -> None:
        super().__init__()
        self.hear: Callable[[Event], None] = lambda event: None

    def publish(self, events: Iterable[Event]) -> None:
        for event in events:
            self.hear(event)


class Tasks:
    """A nursery whose tasks are driven by hand."""

    def __init__(self) -> None:
        self.running: list[Coroutine[Any, Any, object]] = []

    def start_soon(self, fn: Callable[..., Awaitable[object]], *args: Any) -> None:
        self.running.append(cast("Coroutine[Any, Any, object]", fn(*args)))

    def advance(self, number: int) -> None:
        """Let one task run up to its next wait, which follows a write."""
        task = self.running[number % len(self.running)]
        try:
            task.send(None)
        except StopIteration:
            self.running.remove(task)

    def settle(self) -> None:
        while self.running:
            self.advance(0)

    def close(self) -> None:
        for task in self.running:
            task.close()
        self.running.clear()


@attrs.define(eq=False)
class Flags(Timers):
    """Timers that ring when they are told to."""

    def _set(self, kind: str, key: str, after_s: float) -> None:
        self._live[f"{kind} {key}"] = 1

    def waiting(self, kind: str) -> list[str]:
        return [key.split()[1] for key in self._live if key.startswith(f"{kind} ")]

    async def ring(self, kind: str, key: str) -> None:
        await (self._overdue(key) if kind == "call" else self._lapsed(key))
        self._live.pop(f"{kind} {key}", None)

    async def look_at_the_clock(self) -> None:
        await self._act()


class FlakyServers(Servers):
    """The Brain's tools, and one MCP server that comes and goes."""

    up = True

    def state(self, spec: ToolSpec) -> ServerState:
        if spec.mcp_server is not None:
            return ServerState.UP if self.up else ServerState.DOWN
        return super().state(spec)


class StrictConcluder(Concluder):
    """A step may not break in a way nobody foresaw."""

    async def fail_task(self, task: TaskRecord, code: str, message: str) -> None:
        raise AssertionError(f"a step broke: {task.key}")


@attrs.define(eq=False)
class Shelf:
    """The one workflow that is started next."""

    workflow: Workflow | None = None

    def get(self, name: str) -> Workflow | None:
        return self.workflow

    def nearest(self, name: str) -> str | None:
        return None


def make_template(path: Path) -> None:
    """An empty database with the real schema."""
    with closing(opening.connect_writer(path)) as conn:
        opening.prepare(conn, clock=ManualClock())
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")


class World:
    """One Brain over one file; `crash` loses all but the file.

    The ids are drawn from `seed`, so that an example can be run again.
    """

    def __init__(self, template: Path, folder: Path, seed: int) -> None:
        self._patch = pytest.MonkeyPatch()
        self._patch.setattr(ids.secrets, "randbits", random.Random(seed).getrandbits)
        self._patch.setattr(steps, "FAN_CHUNK", 2)
        self._patch.setattr(waits, "FIRST_PAGE", 1)
        self._patch.setattr(waits, "PAGE", 2)
        self.path = folder / "brain.db"
        shutil.copyfile(template, self.path)
        self.clock = ManualClock()
        self.devices: list[Device] = []
        #: How often each call had its effect, by call id.
        self.effects: dict[str, int] = {}
        self.watch = Watch()
        self._boot()

    def _boot(self) -> None:
        self.bus = Ear()
        self.tasks = Tasks()
        self.nursery = cast("trio.Nursery", self.tasks)
        self.db = SyncStore(self.path, self.clock, self.bus)
        self.watch.attach(self.db.conn)
        store = cast("Store", self.db)
        self.clients = Clients(self.bus)
        self.servers = FlakyServers(dict.fromkeys(("s_read", "s_once"), _never))
        engine = WorkflowEngine()
        self.router = Router(
            clients=self.clients,
            servers=self.servers,
            bus=self.bus,
            report=_never_reports,
            server_window=SERVER_WINDOW,
        )
        self.timers = Flags(store, self.clock, self.router, resume_window_s=900)
        self.shelf = Shelf()
        self.starter = Starter(
            store, self.clock, cast("WorkflowLibrary", self.shelf), engine
        )
        engines = {engine.name: engine}
        desk = Desk(registry=REGISTRY, clients=self.clients, servers=self.servers)
        self.scheduler = Scheduler(
            store=store,
            bus=self.bus,
            steps=Steps(
                store=store,
                clock=self.clock,
                engines=engines,
                desk=desk,
                router=self.router,
                timers=self.timers,
            ),
            timers=self.timers,
            concluder=StrictConcluder(store, engines),
        )
        self.at_server: list[CallRecord] = []
        self.bus.hear = lambda event: self.scheduler._hear(event, self.nursery)
        for session_id in self.finish(recover(store)):
            self.timers.session_left(session_id)
        self.scheduler._look_at_everything(self.nursery)

    def crash(self) -> None:
        """The Brain is killed and started again."""
        self.bus.hear = lambda event: None
        self.tasks.close()
        self.db.conn.close()
        for device in self.devices:
            device.cut_off(forgets=False)
        self._boot()

    def close(self) -> None:
        self._patch.undo()
        self.bus.hear = lambda event: None
        self.tasks.close()
        self.db.conn.close()

    def finish(self, task: Coroutine[Any, Any, T]) -> T:
        """Run one coroutine to its end."""
        while True:
            try:
                task.send(None)
            except StopIteration as end:
                return cast("T", end.value)

    def start(
        self, who: Principal, workflow: Workflow, session_id: str | None
    ) -> ProcessRecord:
        self.shelf.workflow = workflow
        request = StartRequest(
            goal="",
            project_id="default",
            session_id=session_id,
            profile="web",
            workflow_id=workflow.id,
            autonomous=session_id is None,
        )
        return self.finish(self.starter.start(who, request))

    def begin_steps(self) -> bool:
        """What the scheduler's loop does in one round; False when there is no lane."""
        lane = self.scheduler._lanes.next()
        if lane is None:
            return False
        self.scheduler._begin_lane(lane, self.nursery)
        return True

    def connect(self, device: Device, tools: Iterable[str]) -> None:
        """As `gateway.session` does it: open, remember the offers, attach."""
        if device.client is not None:
            self.disconnect(device)
        if device.session_id is not None and not self._is_open(device.session_id):
            device.session_id = None
        arrival = Arrival(
            profile="web",
            client_key=device.name,
            client_id=device.name,
            client_name=device.name,
            client_type="cli",
            journal_id=device.journal_id,
            resume=device.session_id,
            project_id=None if device.session_id else "default",
        )
        opened = self.db.now(
            lambda tx: open_session(tx, self.clock, device.who, arrival)
        )
        offers = {name: Offer(name=name) for name in tools}
        self.db.now(lambda tx: remember_offers(tx, device.who, device.name, offers))
        device.record = opened.record
        device.session_id = opened.record.id
        client = ConnectedClient(
            client_id=device.name,
            session_id=opened.record.id,
            owner=device.who.is_owner,
            principal=device.who.id,
            epoch=opened.record.epoch,
            order=self.clients.next_order(),
            window=CLIENT_WINDOW,
            send=device.take,
            name=device.name,
            journal_id=device.journal_id,
            offers=dict(offers),
        )
        device.client = client
        self.timers.session_back(client.session_id)
        self.clients.attach(client)

    def disconnect(
        self, device: Device, *, forgets: bool = False, says_so: bool = False
    ) -> None:
        """As `connection.depart` does it; `says_so` sends `disconnect` first."""
        client, record = device.client, device.record
        assert client is not None
        assert record is not None
        device.cut_off(forgets=forgets)
        current = self.clients.detach(client)
        left = self.db.now(lambda tx: leave(tx, record, disconnect=says_so))
        if left and current:
            self.timers.session_left(record.id)
        if says_so and not device.who.is_owner:
            device.session_id = None

    def _is_open(self, session_id: str) -> bool:
        found = self.db.read(lambda conn: sessions.get(conn, session_id))
        return found is not None and found.closed_at is None

    def offer(self, device: Device, tools: Iterable[str]) -> None:
        assert device.client is not None
        offers = {name: Offer(name=name) for name in tools}
        self.db.now(lambda tx: remember_offers(tx, device.who, device.name, offers))
        self.clients.offer(device.client, offers)

    def result(self, call_id: str, session_id: str, outcome: Outcome) -> None:
        """A `tool-result` frame.

        Raises:
            NotFound: the request is not this session's.
        """
        self.db.now(
            lambda tx: call_rows.client_result(tx, call_id, session_id, outcome)
        )
        self.timers.call_over(call_id)
        self.router.release(call_id)

    def collect_server_calls(self) -> None:
        """What was handed to the Brain's own side runs now."""
        while True:
            try:
                call = self.router._outbox.receive_nowait()
            except trio.WouldBlock:
                return
            if call.id in self.router._at_server:
                self.at_server.append(call)
                self.effects[call.id] = self.effects.get(call.id, 0) + 1

    def server_result(self, call: CallRecord, outcome: Outcome) -> None:
        self.at_server.remove(call)
        self.db.now(lambda tx: call_rows.server_result(tx, call.id, outcome))
        self.router.release(call.id)

    def server_up(self) -> None:
        """The MCP server is there: what waits for it is made ready."""
        self.servers.up = True
        wake = self.scheduler._wake_all(
            CauseKind.SERVER_TOOL, ["mcp"], lambda process: True
        )
        self.tasks.running.append(wake)


async def _never(args: object) -> Outcome:
    raise AssertionError("driven by hand")


async def _never_reports(call_id: str, outcome: Outcome) -> None:
    raise AssertionError("driven by hand")
