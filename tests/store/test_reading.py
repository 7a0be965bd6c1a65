"""Reads: the newest state, a consistent one, and slow ones that stop when told to."""

import sqlite3
import threading
from functools import partial
from pathlib import Path

import pytest
import trio

from tests.store.conftest import OpenStore
from vancetope.clock import ManualClock
from vancetope.events import Bus
from vancetope.store.db import Store, Tx, open_store

ENDLESS = (
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)"
    " SELECT count(*) FROM r"
)


def count(conn: sqlite3.Connection) -> int:
    return int(conn.execute("SELECT count(*) FROM item").fetchone()[0])


def _run(sql: str, conn: sqlite3.Connection) -> None:
    conn.execute(sql).fetchall()


async def insert(store: Store, name: str) -> None:
    def job(tx: Tx) -> None:
        tx.conn.execute("INSERT INTO item (name) VALUES (?)", (name,))

    await store.write(job)


async def test_each_read_sees_what_was_committed_last(opened: OpenStore) -> None:
    async with opened() as store:
        for expected in range(4):
            assert store.read(count) == expected
            assert await store.query(count) == expected
            await insert(store, str(expected))


async def test_a_read_that_raised_leaves_no_old_snapshot_behind(
    opened: OpenStore,
) -> None:
    def broken(conn: sqlite3.Connection) -> None:
        count(conn)
        raise LookupError

    async with opened() as store:
        with pytest.raises(LookupError):
            store.read(broken)
        await insert(store, "a")
        assert store.read(count) == 1


async def test_the_statements_of_one_read_see_one_state(opened: OpenStore) -> None:
    async with opened() as store:
        await insert(store, "a")
        with sqlite3.connect(store.path, isolation_level=None) as other:

            def twice(conn: sqlite3.Connection) -> tuple[int, int]:
                before = count(conn)
                other.execute("INSERT INTO item (name) VALUES ('b')")
                return before, count(conn)

            assert store.read(twice) == (1, 1)
            assert store.read(count) == 2
        other.close()


async def test_a_read_inside_a_read_is_part_of_it(opened: OpenStore) -> None:
    async with opened() as store:
        assert store.read(lambda _conn: store.read(count)) == 0
        await insert(store, "a")
        assert store.read(count) == 1


async def test_readers_cannot_write(opened: OpenStore) -> None:
    async with opened() as store:
        for sql in ("INSERT INTO item (name) VALUES ('a')", "DROP TABLE item"):
            run = partial(_run, sql)
            with pytest.raises(sqlite3.OperationalError, match="readonly"):
                store.read(run)
            with pytest.raises(sqlite3.OperationalError, match="readonly"):
                await store.query(run)
        await insert(store, "a")


async def test_a_cursor_is_refused_as_a_result(opened: OpenStore) -> None:
    async with opened() as store:
        with pytest.raises(TypeError, match="not a cursor"):
            store.read(lambda conn: conn.execute("SELECT 1"))
        with pytest.raises(TypeError, match="not a cursor"):
            await store.query(lambda conn: conn.execute("SELECT 1"))


async def test_cancelling_a_slow_query_interrupts_it_and_the_next_one_runs(
    path: Path, clock: ManualClock, bus: Bus, migrations: Path
) -> None:
    token = trio.lowlevel.current_trio_token()
    async with open_store(path, clock=clock, bus=bus, migrations=migrations) as store:
        with trio.CancelScope() as scope:

            def slow(conn: sqlite3.Connection) -> None:
                conn.execute("SELECT 1").fetchone()
                token.run_sync_soon(scope.cancel)
                conn.execute(ENDLESS).fetchone()

            await store.query(slow)
        assert scope.cancelled_caught
        assert await store.query(count) == 0


async def test_an_interrupt_between_two_statements_is_not_lost(
    path: Path,
    clock: ManualClock,
    bus: Bus,
    migrations: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Hangs without the progress handler: sqlite3_interrupt only stops what runs.
    token = trio.lowlevel.current_trio_token()
    interrupted = threading.Event()
    async with open_store(path, clock=clock, bus=bus, migrations=migrations) as store:
        real = store._slow.interrupt_now

        def interrupt_now() -> None:
            real()
            interrupted.set()

        monkeypatch.setattr(store._slow, "interrupt_now", interrupt_now)
        with trio.CancelScope() as scope:

            def slow(conn: sqlite3.Connection) -> None:
                token.run_sync_soon(scope.cancel)
                assert interrupted.wait(5)
                conn.execute(ENDLESS).fetchone()

            await store.query(slow)
        assert scope.cancelled_caught
        assert interrupted.is_set()
        assert await store.query(count) == 0


async def test_closing_breaks_a_running_query_off(
    path: Path, clock: ManualClock, bus: Bus, migrations: Path
) -> None:
    # Without the interrupt the close would give the thread up after its bound.
    running = trio.Event()
    token = trio.lowlevel.current_trio_token()
    errors: list[str] = []

    def wake() -> int:
        token.run_sync_soon(running.set)
        return 1

    def slow(conn: sqlite3.Connection) -> None:
        conn.create_function("wake", 0, wake)
        conn.execute(ENDLESS.replace("SELECT 1", "SELECT wake()")).fetchone()

    async with trio.open_nursery() as nursery:
        async with open_store(
            path, clock=clock, bus=bus, migrations=migrations
        ) as store:

            async def ask() -> None:
                try:
                    await store.query(slow)
                except sqlite3.OperationalError as exc:
                    errors.append(str(exc))

            nursery.start_soon(ask)
            await running.wait()
    assert errors == ["interrupted"]


async def test_cancelling_a_query_in_the_queue_does_not_stop_the_one_that_runs(
    path: Path, clock: ManualClock, bus: Bus, migrations: Path
) -> None:
    started, go_on = trio.Event(), threading.Event()
    token = trio.lowlevel.current_trio_token()
    results: list[int] = []

    def first(conn: sqlite3.Connection) -> int:
        token.run_sync_soon(started.set)
        assert go_on.wait(5)
        return count(conn)

    async with open_store(path, clock=clock, bus=bus, migrations=migrations) as store:

        async def ask() -> None:
            results.append(await store.query(first))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await started.wait()
            with trio.CancelScope() as scope:
                scope.cancel()
                await store.query(count)
            go_on.set()
    assert results == [0]
