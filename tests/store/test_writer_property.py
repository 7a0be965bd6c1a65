"""Any mix of writes, failures, cancellations and a full disk: told is what is so."""

import sqlite3
import tempfile
from collections.abc import Iterable
from pathlib import Path

import attrs
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.store.conftest import SCHEMA
from vancetope.clock import ManualClock
from vancetope.errors import Unavailable
from vancetope.events import Bus, Event
from vancetope.store.db import Store, Tx, open_store
from vancetope.store.testing import InlineRunner

KINDS = ["ok", "fail", "twice", "big", "rollback", "orphan", "cancelled"]


@attrs.define(eq=False)
class RecordingBus(Bus):
    told: list[int] = attrs.field(factory=list)

    def publish(self, events: Iterable[Event]) -> None:
        self.told += [event.seq for event in events]


@attrs.define(eq=False)
class Run:
    store: Store
    acknowledged: set[str] = attrs.field(factory=set)
    refused: set[str] = attrs.field(factory=set)

    async def one(self, kind: str, name: str) -> None:
        def job(tx: Tx) -> None:
            insert = "INSERT INTO item VALUES (?, ?)"
            tx.emit("added", body=name)
            tx.conn.execute(insert, (name, "nobody" if kind == "orphan" else None))
            if kind == "big":
                tx.conn.execute(insert, (name * 50_000, None))
            elif kind == "twice":
                tx.conn.execute(insert, (name, None))
            elif kind == "rollback":
                tx.conn.execute("ROLLBACK").close()
            elif kind == "fail":
                raise LookupError

        with trio.CancelScope() as scope:
            if kind == "cancelled":
                trio.lowlevel.current_trio_token().run_sync_soon(scope.cancel)
            try:
                await self.store.write(job)
                self.acknowledged.add(name)
            except (LookupError, Unavailable, sqlite3.Error):
                self.refused.add(name)
            except trio.Cancelled:
                self.refused.add(name)
                raise


async def scenario(
    folder: Path, waves: list[list[str]], batch_jobs: int, batch_seconds: float
) -> None:
    clock, bus, path = ManualClock(), RecordingBus(), folder / "brain.db"
    (folder / "0001_initial.sql").write_text(SCHEMA)

    async def opened(use: list[list[str]]) -> tuple[Run, list[int], set[str]]:
        async with open_store(
            path, clock=clock, bus=bus, runner=InlineRunner(), migrations=folder
        ) as store:
            run = Run(store)
            await store._writer._worker.run(cap_pages)
            store._writer._batch_jobs = batch_jobs
            store._writer._batch_seconds = batch_seconds
            for w, wave in enumerate(use):
                async with trio.open_nursery() as nursery:
                    for n, kind in enumerate(wave):
                        nursery.start_soon(run.one, kind, f"{kind}-{w}-{n}")
            assert store._writer.idle
            seqs = store.read(lambda c: c.execute("SELECT seq FROM event").fetchall())
            rows = store.read(lambda c: c.execute("SELECT name FROM item").fetchall())
            return run, [r["seq"] for r in seqs], {r["name"] for r in rows}

    run, _, _ = await opened(waves)
    _, seqs, rows = await opened([])
    assert run.acknowledged == rows
    assert not run.acknowledged & run.refused
    assert len(run.acknowledged) + len(run.refused) == sum(map(len, waves))
    assert bus.told == seqs == list(range(1, len(rows) + 1))
    assert {name for name in run.acknowledged | run.refused if name[:2] == "ok"} <= rows


def cap_pages(conn: sqlite3.Connection) -> None:
    conn.execute("PRAGMA max_page_count = 60").fetchone()


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(KINDS), max_size=8), min_size=1, max_size=4),
    st.integers(1, 8),
    st.sampled_from([0.0, 60.0]),
)
def test_acknowledged_is_what_is_there_after_reopening_and_published_is_committed(
    waves: list[list[str]], batch_jobs: int, batch_seconds: float
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        trio.run(scenario, Path(folder), waves, batch_jobs, batch_seconds)
