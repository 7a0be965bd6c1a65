"""Several writes in one transaction: the synchronous half of the writer.

One batch is `BEGIN IMMEDIATE`, each job inside its own SAVEPOINT, `COMMIT`.  A job
that raises is rolled back alone.  Some errors (a full disk, an I/O error) make SQLite
roll back the whole transaction, savepoints and all; whatever ran after that would be
committed statement by statement.  So the transaction is looked for after every job,
and once it is lost that job has failed and each of the others runs again, alone.
"""

import inspect
import logging
import math
import sqlite3
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeVar

import attrs

from vancetope.clock import Clock
from vancetope.errors import Unavailable
from vancetope.events import Event
from vancetope.store.tx import Tx

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: Primary result codes that speak of the file or the disk, not of the statement.
_STORAGE_CODES: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_READONLY,
    }
)

_FIXES: Final = {
    sqlite3.SQLITE_BUSY: "Close the other program that holds the database.",
    sqlite3.SQLITE_CORRUPT: "Stop the Brain and restore a backup.",
    sqlite3.SQLITE_FULL: "Free some disk space; nothing has to be restarted.",
    sqlite3.SQLITE_NOTADB: "Stop the Brain and restore a backup.",
}
_OTHER_FIX: Final = "Check the disk and the permissions of the home directory."

_SUSPENDABLE: Final = (
    inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
)

#: Milliseconds the writer's thread waits for a lock that another program holds.
BUSY_MS: Final = 5_000


@attrs.define(eq=False)
class Job:
    """One write function and what became of it.

    Attributes:
        long: it may take long enough to hold up the event loop.
    """

    fn: Callable[[Tx], Any]
    long: bool = False
    settled: bool = False
    value: object = None
    error: Exception | None = None

    def succeed(self, value: object) -> None:
        """The job's transaction is committed."""
        self.value, self.settled = value, True

    def fail(self, error: Exception) -> None:
        """Nothing of the job is in the database."""
        self.error, self.settled = error, True

    def outcome(self) -> Any:
        """The value, or raise the error (once)."""
        error, self.error = self.error, None
        if error is None:
            return self.value
        try:
            raise error
        finally:
            del error  # a cycle through the traceback would keep cursors open


@attrs.frozen(eq=False)
class _Attempt:
    """A job that ran inside a transaction whose fate is still open."""

    job: Job
    value: object = None
    error: Exception | None = None
    events: list[Event] = attrs.field(factory=list)


@attrs.frozen(eq=False)
class _Staged:
    """A transaction that waits for its commit, or the jobs that lost theirs."""

    attempts: list[_Attempt]
    lost: list[Job] = attrs.field(factory=list)


@attrs.define(eq=False)
class Batch:
    """Jobs to run together; filled in on the writer's thread.

    Attributes:
        jobs: in the order they came; one that is not settled after the run was not
            reached and may be put back in the queue.
        seconds: no further job is begun after this time.
        events: what was committed, in commit order.
        fault: the storage error that no commit has followed, or None.
        committed: whether a transaction was committed.
        locked: another program had the lock when the jobs were staged.
    """

    jobs: list[Job]
    clock: Clock
    seconds: float
    monotonic: Callable[[], float] = time.monotonic
    events: list[Event] = attrs.field(factory=list)
    fault: str | None = None
    committed: bool = False
    locked: bool = False
    _staged: "_Staged | None" = None

    def run(self, conn: sqlite3.Connection) -> None:
        """Settle the jobs: success means committed, an error that nothing was.

        Waits for another program's lock, so this is for the writer's thread.
        """
        conn.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        try:
            if self.stage(conn, here=False):
                self.finish(conn)
        finally:
            conn.execute("PRAGMA busy_timeout = 0")

    def stage(self, conn: sqlite3.Connection, *, here: bool = True) -> bool:
        """Run the jobs up to the commit, without waiting for anything.

        Args:
            conn: the writer's connection.
            here: this is the event loop.

        Returns:
            Whether there is something for `finish`.  If not, every job is settled, or
            another program has the lock (`locked`) and none has been begun.
        """
        self.locked = False
        end = self.monotonic() + self.seconds
        staged = self._stage(conn, self.jobs, end, here=here)
        self._staged = staged
        return staged is not None

    def reopen(self) -> None:
        """Nothing was begun: the jobs are as they were before `stage`."""
        self.fault = None
        for job in self.jobs:
            job.settled, job.error = False, None

    def finish(self, conn: sqlite3.Connection) -> None:
        """Commit what is staged; what lost its transaction runs again, each alone."""
        staged, self._staged = self._staged, None
        again = [] if staged is None else self._end(conn, staged)
        for job in again:
            alone = self._stage(conn, [job], math.inf, here=False)
            if alone is not None:
                self._end(conn, alone)

    def _stage(
        self, conn: sqlite3.Connection, jobs: list[Job], end: float, *, here: bool
    ) -> "_Staged | None":
        try:
            _roll_back(conn)
            conn.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as exc:
            self.locked = primary_code(exc) == sqlite3.SQLITE_BUSY
            for job in jobs:
                job.fail(self._unavailable(exc))
            return None
        attempts: list[_Attempt] = []
        for job in jobs:
            if attempts and self.monotonic() >= end:
                break
            attempt = _attempt(job, Tx(conn, self.clock.now_ms(), here))
            if not conn.in_transaction:
                job.fail(self._blame(attempt.error))
                return _Staged([], [earlier.job for earlier in attempts])
            attempts.append(attempt)
        return _Staged(attempts)

    def _end(self, conn: sqlite3.Connection, staged: "_Staged") -> list[Job]:
        """Returns the jobs that have to run again, each alone."""
        return staged.lost or self._commit(conn, staged.attempts)

    def _commit(self, conn: sqlite3.Connection, attempts: list[_Attempt]) -> list[Job]:
        try:
            conn.execute("COMMIT")
        except sqlite3.Error as exc:
            _roll_back(conn)
            if primary_code(exc) != sqlite3.SQLITE_CONSTRAINT:
                for attempt in attempts:
                    attempt.job.fail(self._unavailable(exc))
            elif len(attempts) == 1:
                attempts[0].job.fail(exc)
            else:  # a deferred constraint: alone, only the culprit will fail
                return [attempt.job for attempt in attempts]
            return []
        self.committed, self.fault = True, None
        for attempt in attempts:
            if attempt.error is None:
                attempt.job.succeed(attempt.value)
                self.events += attempt.events
            else:
                attempt.job.fail(self._blame(attempt.error))
        return []

    def _blame(self, error: Exception | None) -> Exception:
        """What the job's caller is told: its own error, unless the disk was at fault."""
        if isinstance(error, sqlite3.Error) and primary_code(error) in _STORAGE_CODES:
            return self._unavailable(error)
        return error or sqlite3.ProgrammingError("the job ended its transaction")

    def _unavailable(self, exc: sqlite3.Error) -> Unavailable:
        self.fault = str(exc)
        fix = _FIXES.get(primary_code(exc), _OTHER_FIX)
        error = Unavailable(f"the store cannot be written: {exc}", fix=fix)
        error.__cause__ = exc
        return error


def rows_only(value: T) -> T:
    """Refuse a cursor as a result: left open it holds a snapshot, or the lock.

    Raises:
        TypeError: the value is a cursor.
    """
    if isinstance(value, sqlite3.Cursor):
        msg = "return rows, not a cursor"
        raise TypeError(msg)
    return value


def _attempt(job: Job, tx: Tx) -> _Attempt:
    conn = tx.conn
    try:
        conn.execute("SAVEPOINT job")
        value = rows_only(job.fn(tx))
        conn.execute("RELEASE job")
    except Exception as exc:  # noqa: BLE001 - raised where the caller waits
        _release_cursors(exc)
        _undo(conn)
        return _Attempt(job, error=exc)
    return _Attempt(job, value=value, events=tx.events())


def _release_cursors(exc: Exception) -> None:
    """Forget the locals of the functions that failed.

    A cursor among them would keep its statement running, and a running
    INSERT ... RETURNING forbids the commit.  Generators and coroutines are left
    alone: an error that was caught before may carry one that still waits.
    """
    for frame, _line in traceback.walk_tb(exc.__traceback__):
        if not frame.f_code.co_flags & _SUSPENDABLE:
            with suppress(RuntimeError):  # it is still running: this very function
                frame.clear()


def _undo(conn: sqlite3.Connection) -> None:
    """Roll back one job, or everything where that cannot be done."""
    if not conn.in_transaction:
        return
    try:
        conn.execute("ROLLBACK TO job")
        conn.execute("RELEASE job")
    except sqlite3.Error as exc:
        logger.warning("store.savepoint_lost: %s", exc)
        _roll_back(conn)


def _roll_back(conn: sqlite3.Connection) -> None:
    if conn.in_transaction:
        conn.execute("ROLLBACK")


def primary_code(exc: sqlite3.Error) -> int:
    """The result code without its extension; 0 for errors of the Python module."""
    return getattr(exc, "sqlite_errorcode", 0) & 0xFF
