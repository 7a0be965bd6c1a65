"""The store: one SQLite file, opened, written, read and closed in order.

One connection writes (`Store.write`), in groups, durably.  One connection in the event
loop answers point reads (`Store.read`); one on a thread answers slow ones
(`Store.query`).  The file is in WAL mode, so readers and the writer do not wait for
each other, and only the writer's connection checkpoints.
"""

import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import attrs
import trio

from vancetope.clock import Clock
from vancetope.errors import StoreError, Unavailable
from vancetope.events import Bus
from vancetope.store import opening
from vancetope.store.batch import primary_code
from vancetope.store.connection import CLOSE_SECONDS, Runner, ThreadRunner, Worker
from vancetope.store.reading import run_cancellable, snapshot
from vancetope.store.tx import Tx
from vancetope.store.writer import Writer

__all__ = ["CheckResult", "Store", "Tx", "open_store"]

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: Result codes of a file that is not what it was.
_DAMAGE: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})

#: Problems a check reports at most.
PROBLEMS: Final = 20


@attrs.frozen(kw_only=True)
class CheckResult:
    """What `PRAGMA quick_check` said.

    Attributes:
        ok: whether the file is sound.
        problems: SQLite's own lines about what is not, at most `PROBLEMS`.
    """

    ok: bool
    problems: tuple[str, ...] = ()


@attrs.define(eq=False, kw_only=True)
class Store:
    """The open database; made by `open_store`.

    Attributes:
        path: the database file.
        unclean_stop: whether the last Brain on it did not close it; `check()` then.
        check_result: what `check()` found, or None before it has ended.
    """

    path: Path
    unclean_stop: bool
    _runner: Runner
    _writer: Writer
    _slow: Worker
    _reader: sqlite3.Connection
    check_result: CheckResult | None = None
    _closed: bool = False
    _slow_lock: trio.Lock = attrs.field(factory=trio.Lock)

    @property
    def write_fault(self) -> str | None:
        """Why the file cannot be written, as of the last attempt; None when it can."""
        return self._writer.fault

    async def write(self, fn: Callable[[Tx], T], *, long: bool = False) -> T:
        """Run `fn(tx)` in a transaction; see `Writer.write` for what `fn` may do.

        It runs in the event loop, so one that touches more than some hundreds of rows
        is `long` and runs on the writer's thread.

        Raises:
            Unavailable: nothing was written: the store is closed, or the disk failed.
            Exception: whatever `fn` raised; nothing of it was written.
        """
        return await self._writer.write(fn, long=long)

    def read(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """Run `fn(conn)` at once, on the newest committed state.

        For point reads by an index: the event loop waits.  All statements of `fn` see
        the same state.  `fn` fetches what it needs and keeps no cursor.

        Raises:
            Unavailable: the store is closed.
            StoreError: the file is damaged.
            sqlite3.Error: what a statement raises; a write is such an error.
        """
        self._check_open()
        with self._damage_told():
            return snapshot(self._reader, fn)

    async def query(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """Run `fn(conn)` on the readers' thread: for reads that take their time.

        Queries run one after another.  Cancellation interrupts the statement.

        Raises:
            Unavailable: the store is closed.
            StoreError: the file is damaged.
            sqlite3.Error: what a statement raises; a write is such an error.
        """
        self._check_open()
        async with self._slow_lock:
            self._check_open()
            with self._damage_told():
                return await run_cancellable(self._slow, fn)

    async def check(self) -> CheckResult:
        """Check the file on a connection of its own; logs and keeps the result.

        For a task in the background, once the Brain is ready.
        """
        async with AsyncExitStack() as stack:
            connect = partial(opening.connect_reader, self.path)
            worker = await self._runner.open(connect)
            stack.push_async_callback(worker.close)
            try:
                result = await run_cancellable(worker, _quick_check)
            except sqlite3.DatabaseError as exc:  # too damaged to be checked
                result = CheckResult(ok=False, problems=(str(exc),))
        self.check_result = result
        if result.ok:
            logger.info("store.checked: %s is sound", self.path)
        else:
            logger.error("store.damaged: %s: %s", self.path, "; ".join(result.problems))
        return result

    @contextmanager
    def _damage_told(self) -> Iterator[None]:
        """Turn what SQLite says of a damaged file into a line with a fix."""
        try:
            yield
        except sqlite3.DatabaseError as exc:
            if primary_code(exc) not in _DAMAGE:
                raise
            msg = f"the database {self.path} is damaged: {exc}"
            fix = "Stop the Brain and restore a backup."
            raise StoreError(msg, fix=fix) from exc

    def _check_open(self) -> None:
        if self._closed:
            raise Unavailable("the store is closed", fix="Start the Brain again.")


@asynccontextmanager
async def open_store(
    path: Path,
    *,
    clock: Clock,
    bus: Bus,
    runner: Runner | None = None,
    migrations: Path | None = None,
) -> AsyncIterator[Store]:
    """Open the database, made or migrated as needed, until the block ends.

    The caller holds the home's lock.  However the block ends, what was accepted is
    finished and all connections are closed, each wait bounded.

    Args:
        path: the file; it and its directory are made if need be (0600, 0700).
        clock: the time of writes and events.
        bus: where committed events are published.
        runner: where connections live; threads unless a test says otherwise.
        migrations: the folder of migrations, if not the program's own.

    Raises:
        NewerSchema: the database was written by a newer program; it is not touched.
        StoreError: the file cannot be opened, made or migrated.
    """
    runner = runner or ThreadRunner()
    prepare = partial(opening.prepare, clock=clock, migrations=migrations)
    connect_reader = partial(opening.connect_reader, path)
    async with AsyncExitStack() as stack:
        with opening.readable_errors(path):
            opening.create_file(path)
            worker = await runner.open(partial(opening.connect_writer, path))
            stack.push_async_callback(worker.close)
            unclean_stop = await worker.run(prepare)
            writer = Writer(worker, clock, bus)
            stack.push_async_callback(_finish, worker, writer, clock)
            slow = await runner.open(connect_reader)
            stack.push_async_callback(slow.close)
            reader = connect_reader()
            stack.callback(reader.close)
        store = Store(
            path=path,
            unclean_stop=unclean_stop,
            runner=runner,
            writer=writer,
            slow=slow,
            reader=reader,
        )
        stack.push_async_callback(_stop_using, store)
        yield store


async def _stop_using(store: Store) -> None:
    """Take no new work, let the accepted writes end, break a running query off."""
    store._closed = True  # noqa: SLF001 - the end of what open_store began
    await store._writer.drain()  # noqa: SLF001
    store._slow.interrupt_now()  # noqa: SLF001


async def _finish(worker: Worker, writer: Writer, clock: Clock) -> None:
    """Mark the clean stop, as the last write, unless writes are still under way."""
    if not writer.idle:
        logger.error("store.stopped_unclean: a write did not end in time")
        return
    mark = partial(opening.mark_clean_stop, clock=clock)
    try:
        with trio.move_on_after(CLOSE_SECONDS, shield=True):
            await worker.run(mark)
    except sqlite3.Error as exc:
        # The next start will take this for a crash and check the file: no harm.
        logger.warning("store.stopped_unclean: %s", exc)


def _quick_check(conn: sqlite3.Connection) -> CheckResult:
    try:
        rows = conn.execute(f"PRAGMA quick_check({PROBLEMS:d})").fetchall()
    except sqlite3.DatabaseError as exc:
        if primary_code(exc) == sqlite3.SQLITE_INTERRUPT:
            raise
        return CheckResult(ok=False, problems=(str(exc),))
    lines = tuple(str(row[0]) for row in rows)
    return (
        CheckResult(ok=True)
        if lines == ("ok",)
        else CheckResult(ok=False, problems=lines)
    )
