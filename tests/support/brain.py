"""A whole Brain inside the test: its own store file, no threads, no sockets.

    async with running_brain(tmp_path, workflows={"flow": FLOW}) as brain:
        laptop = await brain.connect("laptop", tools=["read"])
        process = await laptop.start("flow")

Everything runs under `autojump_clock`.  After every transaction the whole task table
is held against `Invariants`; what they find fails the test.
"""

import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

import attrs
import trio

from tests.support.client import FakeClient
from tests.support.clock import TrioClock
from tests.support.invariants import Invariants
from tests.support.sockets import FakeWebSocket
from vance_sdk.wire.params import ConnectionParams
from vancetope.brain import Brain, assemble
from vancetope.config.brain import BrainConfig
from vancetope.config.home import Home
from vancetope.errors import Unauthorized
from vancetope.events import Bus, Event
from vancetope.gateway.auth import Verifier
from vancetope.gateway.session.connection import serve_connection
from vancetope.gateway.websocket import INTERNAL_ERROR, ConnectionLost, WebSocket
from vancetope.model.json import Json
from vancetope.model.principal import OWNER_ID, Principal, PrincipalKind
from vancetope.store.db import Store, open_store
from vancetope.store.testing import InlineRunner

#: Client tools the tests use, one of each effect, and one both sides have.
TOOLS = """\
tools:
  - {name: read, location: client, type: native, effect: read}
  - {name: write, location: client, type: native, effect: idempotent}
  - {name: send, location: client, type: native, effect: once}
"""


@attrs.frozen
class NamedVerifier:
    """The token says who it is: `owner`, `cron`, or `robot:NAME`."""

    def verify(self, token: str) -> Principal:
        kind, _, name = token.partition(":")
        if kind == "robot" and name:
            return Principal(id=f"sa_{name}", kind=PrincipalKind.ROBOT, name=name)
        if token == "owner":
            return Principal(id=OWNER_ID, kind=PrincipalKind.HUMAN)
        if token == "cron":
            return Principal(id=OWNER_ID, kind=PrincipalKind.INTERNAL)
        raise Unauthorized("The token does not verify")


async def run_here(work: Callable[[], Json]) -> Json:
    """Compute in the event loop, where virtual time waits for it."""
    await trio.lowlevel.checkpoint()
    return work()


@attrs.define(eq=False)
class CheckedBus(Bus):
    """A bus that looks at the tables whenever something was committed."""

    on_commit: Callable[[], None] = attrs.field(default=lambda: None, kw_only=True)

    def publish(self, events: Iterable[Event]) -> None:
        known = list(events)
        super().publish(known)
        if any(event.seq for event in known):
            self.on_commit()


@attrs.define(eq=False, kw_only=True)
class TestBrain:
    """One home, and the Brain that runs on it now."""

    __test__ = False

    path: Path
    config: BrainConfig
    verifier: Verifier
    own_only: bool = False
    clock: TrioClock = attrs.field(factory=TrioClock)
    invariants: Invariants = attrs.field(factory=Invariants)
    broken: list[BaseException] = attrs.field(factory=list)
    _nursery: trio.Nursery
    _brain: Brain | None = None
    _connections: trio.Nursery | None = None
    _sockets: list[FakeWebSocket] = attrs.field(factory=list)
    _scope: trio.CancelScope = attrs.field(factory=trio.CancelScope)
    _gone: trio.Event = attrs.field(factory=trio.Event)
    _clients: int = 0
    _doomed: bool = False

    @property
    def brain(self) -> Brain:
        assert self._brain is not None
        return self._brain

    @property
    def home(self) -> Home:
        return Home(self.path)

    @property
    def store(self) -> Store:
        return self.brain.store

    # ------------------------------------------------------------------ its life

    async def start(self) -> None:
        self._scope, self._gone = trio.CancelScope(), trio.Event()
        await self._nursery.start(self._live)

    async def stop(self) -> None:
        """A clean stop: connections leave, the store is closed."""
        self._scope.cancel()
        with trio.fail_after(60):
            await self._gone.wait()
        self._brain = None

    async def restart(self, *, crash: bool = False) -> None:
        """Stop, and start on the same database.

        A crash leaves exactly what is committed now: nobody departs, nothing that
        was under way gets any further.
        """
        saved = self.path / "at-the-crash.db"
        if crash:
            self._save(saved)
            self._doomed = True  # what it still commits has never happened
        for socket in self._sockets:
            socket.abort()
        self._sockets.clear()
        await self.stop()
        if crash:
            for suffix in ("", "-wal", "-shm"):
                self.home.database.with_name(f"brain.db{suffix}").unlink(
                    missing_ok=True
                )
            saved.rename(self.home.database)
        await self.start()

    def _save(self, path: Path) -> None:
        source = sqlite3.connect(self.home.database)
        target = sqlite3.connect(path)
        try:
            source.backup(target)
        finally:
            target.close()
            source.close()

    async def _live(self, *, task_status: trio.TaskStatus[None]) -> None:
        try:
            with self._scope:
                await self._run(task_status)
        finally:
            self._gone.set()

    async def _run(self, task_status: trio.TaskStatus[None]) -> None:
        bus = CheckedBus()
        async with open_store(
            self.home.database, clock=self.clock, bus=bus, runner=InlineRunner()
        ) as store:
            self._doomed = False
            bus.on_commit = partial(self._look, store)
            self._brain = assemble(
                store,
                home=self.home,
                config=self.config,
                clock=self.clock,
                bus=bus,
                verifier=self.verifier,
                own_only=self.own_only,
                run_cpu=run_here,
            )
            async with trio.open_nursery() as nursery:
                await nursery.start(self._brain.work)
                async with trio.open_nursery() as self._connections:
                    task_status.started()
                    await trio.sleep_forever()

    def _look(self, store: Store) -> None:
        if not self._doomed:
            store.read(self.invariants.check)

    # --------------------------------------------------------------- its clients

    async def connect(self, name: str | None = None, **given: Any) -> FakeClient:
        """Connect and shake hands; see `FakeClient.hello` for what can be given."""
        client = await self.dial(name, profile=given.pop("profile", "web"))
        await client.hello(**given)
        return client

    async def dial(
        self, name: str | None = None, *, profile: str = "web", **socket: Any
    ) -> FakeClient:
        """Connect; the handshake is the caller's."""
        self._clients += 1
        gateway = self.config.gateway
        ws = FakeWebSocket(
            peer=f"fake:{self._clients}",
            first_frame_limit=gateway.first_frame_bytes,
            frame_limit=gateway.frame_bytes,
            send_timeout_s=gateway.send_timeout.seconds,
            ping_timeout_s=gateway.dead_after.seconds - gateway.ping_interval.seconds,
            **socket,
        )
        self._sockets.append(ws)
        assert self._connections is not None
        params = ConnectionParams(profile=profile, name=name)
        self._connections.start_soon(self._serve, ws, params)
        client = FakeClient(end=ws.client, profile=profile, name=name)
        self._nursery.start_soon(client.run)
        return client

    async def _serve(self, ws: FakeWebSocket, params: ConnectionParams) -> None:
        """As the listener does it: a connection can fail only itself."""
        try:
            await serve_connection(
                self.brain.hub, cast("WebSocket", ws), params, ws.peer
            )
        except* ConnectionLost:
            pass
        except* Exception as group:  # noqa: BLE001 - raised at the end of the test
            self.broken.append(group)
            await ws.close(INTERNAL_ERROR, "our fault")
        else:
            await ws.close()

    # ------------------------------------------------------------- what it knows

    def rows(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        """What a query of the database gives."""
        return self.store.read(
            lambda conn: [dict(row) for row in conn.execute(sql, values)]
        )

    def statuses(self, process: str) -> dict[str, str]:
        """Every task's status by its key, retired ones left out."""
        found = self.rows(
            "SELECT key, status FROM task WHERE process_id = ?"
            " AND coalesce(item_index, 0) >= 0 ORDER BY rank",
            process,
        )
        return {row["key"]: row["status"] for row in found}

    def task(self, process: str, key: str) -> dict[str, Any]:
        """One task's row."""
        [row] = self.rows(
            "SELECT * FROM task WHERE process_id = ? AND key = ?"
            " AND coalesce(item_index, 0) >= 0",
            process,
            key,
        )
        return row

    def calls(self, process: str, key: str | None = None) -> list[dict[str, Any]]:
        """The calls of a process, or of one task, oldest first."""
        return self.rows(
            "SELECT c.*, t.key FROM call c JOIN task t ON t.id = c.task_id"
            " WHERE c.process_id = ? AND ? IN (t.key, '') ORDER BY c.created_at, c.id",
            process,
            key or "",
        )

    def status(self, process: str) -> str:
        """A process's status."""
        [row] = self.rows("SELECT status FROM process WHERE id = ?", process)
        return str(row["status"])

    async def until(
        self, true: Callable[[], bool], *, within: float = 60.0, what: str = ""
    ) -> None:
        """Wait, in virtual time, until something holds."""
        with trio.move_on_after(within):
            with self.brain.bus.subscribe() as news:
                while not true():
                    await news.wait()
                return
        tasks = self.rows("SELECT key, status, cause_kind, cause_what FROM task")
        raise AssertionError(f"not within {within} s: {what or true}; tasks: {tasks}")

    async def until_status(
        self, process: str, *wanted: str, within: float = 60.0
    ) -> str:
        """Wait until a process has one of these statuses."""
        await self.until(
            lambda: self.status(process) in wanted,
            within=within,
            what=f"{process} is {wanted}",
        )
        return self.status(process)

    async def until_task(
        self, process: str, key: str, *wanted: str, within: float = 60.0
    ) -> dict[str, Any]:
        """Wait until a task has one of these statuses."""
        await self.until(
            lambda: self.statuses(process).get(key) in wanted,
            within=within,
            what=f"{key} is {wanted}",
        )
        return self.task(process, key)


async def settled() -> None:
    """Let everything happen that can happen without time passing by."""
    await trio.sleep(0.1)


@asynccontextmanager
async def running_brain(  # noqa: ASYNC119 - a test's `async with` ends it
    tmp_path: Path,
    *,
    workflows: Mapping[str, str] | None = None,
    tools_yaml: str = TOOLS,
    config: BrainConfig | None = None,
    verifier: Verifier | None = None,
    own_only: bool = False,
) -> AsyncIterator[TestBrain]:
    """A Brain for the time of the block."""
    home = Home(tmp_path / "home")
    home.workflows.mkdir(parents=True)
    home.tools.write_text(tools_yaml, encoding="utf-8")
    for name, text in (workflows or {}).items():
        (home.workflows / f"{name}.yaml").write_text(text, encoding="utf-8")
    async with trio.open_nursery() as nursery:
        brain = TestBrain(
            path=home.path,
            config=config or BrainConfig(),
            verifier=verifier or NamedVerifier(),
            own_only=own_only,
            nursery=nursery,
        )
        await brain.start()
        yield brain
        await brain.stop()
        nursery.cancel_scope.cancel()
    if brain.broken:
        raise BaseExceptionGroup("connections broke", brain.broken)
    if brain.invariants.violations:
        raise AssertionError("\n".join(brain.invariants.violations[:10]))
