"""Parts of the Brain with their waits taken out, to be driven by hand."""

import sys
import types
from collections.abc import (
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Mapping,
)
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import attrs

from vancetope.clock import ManualClock
from vancetope.events import Bus, Event
from vancetope.model.records import TaskRecord
from vancetope.model.tool import ToolSpec
from vancetope.processes.conclude import Concluder
from vancetope.processes.engines.base import Engine
from vancetope.processes.scheduler.timers import Timers
from vancetope.processes.workflows.definition import Workflow
from vancetope.store import Connection, opening
from vancetope.store.batch import Batch, Job
from vancetope.store.db import Store
from vancetope.store.reading import snapshot
from vancetope.store.tx import Tx
from vancetope.tools.routing import ServerState
from vancetope.tools.servers import Servers

T = TypeVar("T")


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

    async def write(self, fn: Callable[[Tx], T], *, long: bool = False) -> T:
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
    """Notes what broke in a way nobody foresaw: the scheduler would only log it."""

    broken: Final[list[str]]

    def __init__(self, store: Store, engines: Mapping[str, Engine]) -> None:
        super().__init__(store, engines)
        self.broken = []

    async def conclude(self, process_id: str) -> None:
        try:
            await super().conclude(process_id)
        except Exception as exc:
            self.broken.append(f"conclude: {exc!r}")
            raise

    async def fail_task(self, task: TaskRecord, code: str, message: str) -> None:
        self.broken.append(f"a step: {sys.exc_info()[1]!r}")
        await super().fail_task(task, code, message)


@attrs.define(eq=False)
class Shelf:
    """The one workflow that is started next."""

    workflow: Workflow | None = None

    def get(self, name: str) -> Workflow | None:
        return self.workflow

    def nearest(self, name: str) -> str | None:
        return None

    def names(self) -> list[str]:
        return []
