"""Opening and closing: settings, refusals, the clean-stop marker, no leaks."""

import sqlite3
import stat
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import trio

from tests.store.conftest import OpenStore
from vancetope.clock import ManualClock
from vancetope.errors import NewerSchema, StoreError
from vancetope.events import Bus
from vancetope.store.connection import Runner, Worker
from vancetope.store.db import CheckResult, Store, open_store
from vancetope.store.testing import InlineRunner


def pragma(name: str) -> Callable[[sqlite3.Connection], object]:
    return lambda conn: conn.execute(f"PRAGMA {name}").fetchone()[0]


def outside(path: Path, sql: str) -> list[tuple[object, ...]]:
    """Ask the file from outside; never while a store has it open."""
    path.parent.mkdir(exist_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        return conn.execute(sql).fetchall()


def content_of(path: Path) -> bytes:
    return path.read_bytes()


def put(path: Path, content: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)


def open_files_under(folder: Path) -> list[Path]:
    held = [p.readlink() for p in Path("/proc/self/fd").iterdir() if p.exists()]
    return [p for p in held if p.is_relative_to(folder)]


async def test_the_writer_is_durable_and_the_readers_cannot_write(
    opened: OpenStore,
) -> None:
    async with opened() as store:
        writer = store._writer._worker.run
        assert await writer(pragma("journal_mode")) == "wal"
        assert await writer(pragma("synchronous")) == 2  # FULL
        assert await writer(pragma("foreign_keys")) == 1
        # The event loop never waits for another program's lock; the thread does.
        assert await writer(pragma("busy_timeout")) == 0
        assert await writer(pragma("mmap_size")) == 0
        assert await writer(pragma("wal_autocheckpoint")) > 0  # type: ignore[operator]
        readers = {"query_only": 1, "wal_autocheckpoint": 0, "mmap_size": 0}
        for name, value in readers.items():
            assert store.read(pragma(name)) == value, name
            assert await store.query(pragma(name)) == value, name


async def test_home_and_files_are_the_owners_alone(
    opened: OpenStore, path: Path
) -> None:
    async with opened():
        files = list(path.parent.iterdir())
        assert {p.name for p in files} == {"brain.db", "brain.db-wal", "brain.db-shm"}
        assert {stat.S_IMODE(p.stat().st_mode) for p in files} == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [p.name for p in path.parent.iterdir()] == ["brain.db"]


async def test_closing_leaves_no_thread_and_no_open_file(
    opened: OpenStore, path: Path
) -> None:
    before = threading.active_count()
    for _ in range(5):
        async with opened() as store:
            await store.check()
    assert threading.active_count() == before
    if sys.platform == "linux":
        assert not open_files_under(path.parent)


@pytest.mark.parametrize("how", ["error", "cancelled"])
async def test_however_the_block_ends_the_store_is_closed_cleanly(
    opened: OpenStore, how: str
) -> None:
    before = threading.active_count()
    if how == "error":
        with pytest.raises(LookupError):  # as it is, not in a group
            async with opened():
                raise LookupError
    else:
        with trio.CancelScope() as scope:
            async with opened():
                scope.cancel()
                await trio.sleep_forever()
    assert threading.active_count() == before
    async with opened() as store:
        assert not store.unclean_stop


# ------------------------------------------------------------------------ refusals


async def test_a_newer_schema_is_refused_and_not_touched(
    opened: OpenStore, path: Path
) -> None:
    outside(path, "PRAGMA user_version = 7")
    before = content_of(path)
    with pytest.raises(NewerSchema) as caught:
        async with opened():
            raise AssertionError
    said = str(caught.value)
    assert "version 7" in said
    assert "up to 1" in said
    assert "Install the newer program" in said
    assert content_of(path) == before


@pytest.mark.parametrize("content", [b"not a database" * 100, b"\x00" * 5_000])
async def test_a_file_that_is_no_database_is_a_readable_error_and_no_leak(
    opened: OpenStore, path: Path, content: bytes
) -> None:
    put(path, content)
    before = threading.active_count()
    with pytest.raises(StoreError, match=r"brain.db: file is not a database"):
        async with opened():
            raise AssertionError
    assert threading.active_count() == before
    assert content_of(path) == content


async def test_another_programs_database_is_refused(
    opened: OpenStore, path: Path
) -> None:
    outside(path, "CREATE TABLE theirs (n)")
    outside(path, "PRAGMA user_version = 1")
    with pytest.raises(StoreError, match=r"another program's database"):
        async with opened():
            raise AssertionError


async def test_a_failed_migration_is_a_readable_error_and_no_leak(
    opened: OpenStore, migrations: Path
) -> None:
    (migrations / "0002_bad.sql").write_text("CREATE TABLE item (n);")
    before = threading.active_count()
    with pytest.raises(StoreError, match=r"0002_bad failed at .*already exists"):
        async with opened():
            raise AssertionError
    assert threading.active_count() == before


async def test_a_home_that_is_a_file_is_a_readable_error(
    path: Path, clock: ManualClock, bus: Bus, runner: Runner
) -> None:
    path.parent.write_text("")
    with pytest.raises(StoreError, match=r"cannot make the database .*--home"):
        async with open_store(path, clock=clock, bus=bus, runner=runner):
            raise AssertionError


@pytest.mark.parametrize("nth", [1, 2])
async def test_a_connection_that_fails_to_open_closes_those_before_it(
    path: Path, clock: ManualClock, bus: Bus, runner: Runner, migrations: Path, nth: int
) -> None:
    opened = 0

    class Failing:
        async def open(self, connector: Callable[[], sqlite3.Connection]) -> Worker:
            nonlocal opened
            opened += 1
            if opened == nth:
                raise sqlite3.OperationalError
            return await runner.open(connector)

    before = threading.active_count()
    with pytest.raises(StoreError):
        async with open_store(
            path, clock=clock, bus=bus, runner=Failing(), migrations=migrations
        ):
            raise AssertionError
    assert threading.active_count() == before
    async with open_store(
        path, clock=clock, bus=bus, runner=runner, migrations=migrations
    ) as store:
        assert not store.unclean_stop


# ------------------------------------------------------------------ the clean stop


async def crash(opened: OpenStore, path: Path) -> None:
    """Leave the file as a Brain does that is killed: without the marker."""
    async with opened():
        pass
    outside(path, "DELETE FROM meta WHERE key = 'clean_stop'")


async def test_a_new_database_and_a_cleanly_closed_one_need_no_check(
    opened: OpenStore,
) -> None:
    for _ in range(2):
        async with opened() as store:
            assert not store.unclean_stop
            assert store.check_result is None


async def test_after_a_crash_the_store_asks_for_a_check(
    opened: OpenStore, path: Path
) -> None:
    await crash(opened, path)
    async with opened() as store:
        assert store.unclean_stop
        assert await store.check() == CheckResult(ok=True)
        assert store.check_result == CheckResult(ok=True)
    async with opened() as store:
        assert not store.unclean_stop


async def test_while_open_the_marker_is_gone_on_disk(
    opened: OpenStore, path: Path
) -> None:
    marker = "SELECT value FROM meta WHERE key = 'clean_stop'"
    async with opened():
        pass
    assert outside(path, marker)
    async with opened() as store:
        assert not store.read(lambda conn: conn.execute(marker).fetchall())


async def test_a_check_finds_a_damaged_page(
    opened: OpenStore, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened() as store:
        await store.write(
            lambda tx: (
                tx.conn.executemany(
                    "INSERT INTO item (name) VALUES (?)",
                    [(f"{n:05}" * 20,) for n in range(500)],
                ).rowcount
            )
        )
    damaged = bytearray(content_of(path))
    page = damaged.rfind(b"0049900499") // 4096
    damaged[page * 4096 : page * 4096 + 100] = b"\xff" * 100
    put(path, bytes(damaged))
    async with opened() as store:
        result = await store.check()
        assert not result.ok
        assert 1 <= len(result.problems) <= 20
        assert store.check_result is result
    assert "store.damaged" in caplog.text


async def test_a_check_can_be_cancelled(opened: OpenStore) -> None:
    async with opened() as store:
        with trio.CancelScope() as scope:
            scope.cancel()
            await store.check()
        assert scope.cancelled_caught
        assert store.check_result is None


async def test_the_inline_runner_keeps_virtual_time_still(
    path: Path,
    clock: ManualClock,
    bus: Bus,
    migrations: Path,
    autojump_clock: trio.testing.MockClock,
) -> None:
    # With the thread runner virtual time jumps past the deadline during a commit.
    async with open_store(
        path, clock=clock, bus=bus, runner=InlineRunner(), migrations=migrations
    ) as store:
        with trio.move_on_after(1) as scope:
            for name in "abcdef":
                await _insert(store, name)
        assert not scope.cancelled_caught
        assert trio.current_time() == pytest.approx(0, abs=0.001)


async def _insert(store: Store, name: str) -> None:
    await store.write(
        lambda tx: tx.conn.execute(
            "INSERT INTO item (name) VALUES (?)", (name,)
        ).close()
    )
