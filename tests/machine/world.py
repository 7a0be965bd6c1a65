"""A Brain without Trio: the real store functions, scheduler and commands by hand.

Everything asynchronous in the Brain awaits the store and nothing else, so its
coroutines can be driven by hand: each is suspended after every write it makes, as if
other tasks ran between the commit and the moment its caller hears of it.
"""

import random
import secrets
import shutil
from collections.abc import Callable, Coroutine, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
import trio

from tests.machine.checker import Watch
from tests.machine.devices import Device
from tests.machine.driven import (
    Ear,
    Flags,
    FlakyServers,
    Shelf,
    StrictConcluder,
    SyncStore,
    Tasks,
)
from tests.machine.workflows import REGISTRY
from vancetope.clock import ManualClock
from vancetope.model.principal import Principal
from vancetope.model.records import CallRecord, ProcessRecord
from vancetope.model.status import CauseKind
from vancetope.processes import calls as call_rows
from vancetope.processes.commands.sessions import (
    Arrival,
    leave,
    open_session,
    remember_offers,
)
from vancetope.processes.commands.start import Starter, StartRequest
from vancetope.processes.engines.workflow import WorkflowEngine
from vancetope.processes.recovery import recover
from vancetope.processes.scheduler import fan, waits
from vancetope.processes.scheduler.desk import Desk
from vancetope.processes.scheduler.loop import Scheduler
from vancetope.processes.scheduler.steps import Steps
from vancetope.processes.workflows.definition import Workflow
from vancetope.processes.workflows.library import WorkflowLibrary
from vancetope.store import opening
from vancetope.store.db import Store
from vancetope.store.queries import sessions
from vancetope.tools.clients import Clients, ConnectedClient
from vancetope.tools.outcome import Outcome
from vancetope.tools.registry import Offer
from vancetope.tools.router import Router

T = TypeVar("T")

SERVER_WINDOW = 2
CLIENT_WINDOW = 2


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
        self._patch.setattr(secrets, "randbits", random.Random(seed).getrandbits)
        self._patch.setattr(fan, "FAN_CHUNK", 2)
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
            store, self.clock, cast("WorkflowLibrary", self.shelf), engine, _read_here
        )
        engines = {engine.name: engine}
        desk = Desk(registry=REGISTRY, clients=self.clients, servers=self.servers)
        self.concluder = StrictConcluder(store, engines)
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
            concluder=self.concluder,
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


async def _read_here(work: Callable[[], Workflow | None]) -> Workflow | None:
    return work()
