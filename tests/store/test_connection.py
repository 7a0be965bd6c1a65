"""The contract of the Trio-native aiosqlite connection, and what it relies on."""

import importlib.metadata
import inspect
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import aiosqlite
import pytest
import trio
from aiosqlite import core

from vancetope.store.connection import TrioConnection


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[TrioConnection]:
    connect = partial(sqlite3.connect, tmp_path / "t.db", isolation_level=None)
    connection = await TrioConnection(connect)
    await connection.execute("CREATE TABLE t (n INTEGER PRIMARY KEY)")
    yield connection
    await connection.close()


# ------------------------------------------------------- the private surface we use


def test_the_installed_aiosqlite_is_one_this_subclass_was_written_for() -> None:
    version = importlib.metadata.version("aiosqlite")
    assert (0, 22) <= tuple(map(int, version.split(".")[:2])) < (0, 23)


def test_the_three_overridden_methods_have_the_shape_expected() -> None:
    base = aiosqlite.Connection
    assert list(inspect.signature(base.stop).parameters) == ["self"]
    assert list(inspect.signature(base._connect).parameters) == ["self"]
    execute = inspect.signature(base._execute).parameters
    assert list(execute) == ["self", "fn", "args", "kwargs"]
    assert not inspect.iscoroutinefunction(base.stop)
    assert inspect.iscoroutinefunction(base._connect)
    assert inspect.iscoroutinefunction(base._execute)


def test_asyncio_is_used_in_no_other_method_that_the_store_calls() -> None:
    overridden = {"stop", "_connect", "_execute"}
    not_used_here = {"iterdump", "__init__"}  # __init__ only names it in a type
    for name, member in inspect.getmembers(aiosqlite.Connection, inspect.isfunction):
        if name not in overridden | not_used_here:
            assert "asyncio" not in inspect.getsource(member), name
    worker = inspect.getsource(core._connection_worker_thread)
    assert "future.get_loop().call_soon_threadsafe(" in worker
    assert "asyncio" not in worker.replace("_TxQueue", "")


def test_the_attributes_that_the_subclass_touches_are_there() -> None:
    connection = aiosqlite.Connection(lambda: sqlite3.connect(":memory:"), 64)
    for name in ("_running", "_connection", "_connector", "_tx", "_thread"):
        assert hasattr(connection, name), name
    assert isinstance(connection._thread, threading.Thread)
    assert core._STOP_RUNNING_SENTINEL is not None


# ------------------------------------------------------------------------ behaviour


async def test_statements_run_and_give_their_rows(db: TrioConnection) -> None:
    await db.execute("INSERT INTO t VALUES (7)")
    async with db.execute("SELECT n FROM t") as cursor:
        assert [row[0] async for row in cursor] == [7]
    assert await db.run(lambda conn: conn.execute("SELECT 2").fetchone()[0]) == 2


# What asyncio says of a thread without a loop differs from Python to Python.
@pytest.mark.filterwarnings("ignore:There is no current event loop:DeprecationWarning")
async def test_plain_aiosqlite_does_not_run_under_trio(tmp_path: Path) -> None:
    # The control for the subclass: should this ever pass, it is not needed any more.
    with pytest.raises((TypeError, RuntimeError)):
        _ = await aiosqlite.connect(tmp_path / "t.db")


async def test_functions_run_on_the_connections_own_thread(db: TrioConnection) -> None:
    ran_on = await db.run(lambda _conn: threading.current_thread())
    assert ran_on is not threading.current_thread()
    assert ran_on is db._thread


async def test_an_error_reaches_the_caller_and_the_connection_goes_on(
    db: TrioConnection,
) -> None:
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        await db.execute("SELECT * FROM nowhere")
    assert await db.run(lambda conn: conn.execute("SELECT 1").fetchone()[0]) == 1


async def test_a_failed_opening_raises_and_leaves_no_thread(tmp_path: Path) -> None:
    connection = TrioConnection(partial(sqlite3.connect, tmp_path / "no" / "t.db"))
    with pytest.raises(sqlite3.OperationalError, match="unable to open"):
        _ = await connection
    connection._thread.join(5)
    assert not connection._thread.is_alive()


async def test_closing_ends_the_thread_and_is_safe_twice(tmp_path: Path) -> None:
    connection = await TrioConnection(partial(sqlite3.connect, tmp_path / "t.db"))
    await connection.close()
    assert not connection._thread.is_alive()
    await connection.close()


async def test_use_after_close_is_an_error_not_a_hang(tmp_path: Path) -> None:
    connection = await TrioConnection(partial(sqlite3.connect, tmp_path / "t.db"))
    await connection.close()
    with pytest.raises(ValueError, match=r"Connection closed|no active connection"):
        await connection.run(lambda _conn: None)
    with pytest.raises(ValueError, match=r"Connection closed|no active connection"):
        await connection.execute("SELECT 1")


async def test_closing_is_not_cancelled(tmp_path: Path) -> None:
    connection = await TrioConnection(partial(sqlite3.connect, tmp_path / "t.db"))
    with trio.CancelScope() as scope:
        scope.cancel()
        await connection.close()
    assert not connection._thread.is_alive()


async def test_opening_is_not_cancelled_half_way(tmp_path: Path) -> None:
    connection = TrioConnection(partial(sqlite3.connect, tmp_path / "t.db"))
    with trio.CancelScope() as scope:
        scope.cancel()
        _ = await connection
    assert await connection.run(lambda conn: conn.total_changes) == 0
    await connection.close()


async def test_a_cancelled_await_stops_waiting_but_the_statement_is_carried_out(
    db: TrioConnection,
) -> None:
    # Why the writer shields: Cancelled says nothing about the row.
    gate = threading.Event()
    with trio.CancelScope() as scope:

        def insert(conn: sqlite3.Connection) -> None:
            assert gate.wait(5)
            conn.execute("INSERT INTO t VALUES (1)")

        scope.cancel()
        await db.run(insert)
    assert scope.cancelled_caught
    gate.set()
    assert await db.run(lambda conn: conn.execute("SELECT n FROM t").fetchall())


async def test_an_interrupt_breaks_a_running_statement_off(db: TrioConnection) -> None:
    # The interrupt is asked for from inside the statement: one that comes between two
    # statements is lost.
    endless = (
        "WITH RECURSIVE r(n) AS (SELECT wake() UNION ALL SELECT n + 1 FROM r)"
        " SELECT count(*) FROM r"
    )
    token = trio.lowlevel.current_trio_token()
    interrupted = threading.Event()

    def interrupt() -> None:
        db.interrupt_now()
        interrupted.set()

    def wake() -> int:
        token.run_sync_soon(interrupt)
        return int(interrupted.wait(5))

    def slow(conn: sqlite3.Connection) -> None:
        conn.create_function("wake", 0, wake)
        conn.execute(endless).fetchone()

    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        await db.run(slow)


@pytest.mark.slow
def test_a_connection_that_nobody_closed_does_not_keep_the_process_alive() -> None:
    # Fails (times out) without the daemon flag in TrioConnection.__init__.
    code = (
        "import os, sqlite3, sys, trio\n"
        "from vancetope.store.connection import TrioConnection\n"
        "kept = []\n"
        "async def main():\n"
        "    kept.append(await TrioConnection(lambda: sqlite3.connect(':memory:')))\n"
        "trio.run(main)\n"
        "print('ended', flush=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout == "ended\n", done.stderr
