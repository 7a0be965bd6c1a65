"""One SQLite connection and the thread it lives on, awaited by Trio.

aiosqlite does the work on its own thread but hands the results back through asyncio
futures, in exactly three methods.  `TrioConnection` replaces these three; what it
relies on is pinned by `tests/store/test_connection.py`.

The thread is a seam.  A `Runner` opens a `Worker`; `ThreadRunner` is the real one,
`vancetope.store.testing.InlineRunner` runs in the event loop, for tests under virtual
time.  Both pass the same contract tests.
"""

import sqlite3
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, Final, Protocol, TypeVar, cast

import aiosqlite
import attrs
import trio
from aiosqlite import core

T = TypeVar("T")

#: Seconds to wait for what a connection still has to do when it is closed.  A disk
#: that hangs longer is left to the thread, which does not keep the process alive.
CLOSE_SECONDS: Final = 5.0

#: Rows aiosqlite's own cursors fetch at a time.
_CHUNK_ROWS: Final = 64


class Worker(Protocol):
    """A connection that runs one function at a time, in the order they came."""

    async def run(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """Run `fn(connection)` on the connection's thread; raise what it raises.

        A cancelled call stops waiting; `fn` may run all the same.

        Raises:
            ValueError: the connection is closed.
        """
        ...

    def here(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """Run `fn(connection)` at once, where the caller is.

        Nothing may be running on the connection's own thread meanwhile.

        Raises:
            ValueError: the connection is closed.
        """
        ...

    def interrupt_now(self) -> None:
        """Make the statement that is running, if one is, fail as interrupted."""
        ...

    async def close(self) -> None:
        """Run what is queued, close the connection, end the thread; not cancelled."""
        ...


class Runner(Protocol):
    """Opens workers."""

    async def open(self, connector: Callable[[], sqlite3.Connection]) -> Worker:
        """Call `connector` where the connection is to live; raise what it raises."""
        ...


@attrs.define(eq=False)
class _Waiter:
    """What aiosqlite's thread takes for an asyncio future and for its loop."""

    _token: trio.lowlevel.TrioToken = attrs.field(
        factory=trio.lowlevel.current_trio_token
    )
    _task: trio.lowlevel.Task | None = None
    _done: bool = False
    _value: object = None
    _error: BaseException | None = None

    def get_loop(self) -> "_Waiter":
        return self

    def call_soon_threadsafe(self, fn: Callable[..., object], *args: object) -> None:
        try:
            self._token.run_sync_soon(fn, *args)
        except trio.RunFinishedError:
            # Nobody is left to tell.  Raised into the thread, it would end it before
            # the connection is closed.
            core.LOG.debug("result dropped: the Trio run has ended")

    def done(self) -> bool:
        return self._done

    def set_result(self, value: object) -> None:
        self._value = value
        self._finish()

    def set_exception(self, error: BaseException) -> None:
        self._error = error
        self._finish()

    def _finish(self) -> None:
        self._done = True
        if self._task is not None:
            trio.lowlevel.reschedule(self._task)
            self._task = None

    async def wait(self) -> Any:
        if not self._done:
            self._task = trio.lowlevel.current_task()
            await trio.lowlevel.wait_task_rescheduled(self._abort)
        error, self._error = self._error, None
        if error is None:
            return self._value
        try:
            raise error
        finally:
            del error  # a cycle through the traceback would keep cursors open

    def _abort(self, _raise_cancel: object) -> trio.lowlevel.Abort:
        self._task = None
        return trio.lowlevel.Abort.SUCCEEDED

    def __await__(self) -> Generator[Any, Any, Any]:
        return self.wait().__await__()


class TrioConnection(aiosqlite.Connection):
    """An `aiosqlite.Connection` for Trio, and a `Worker`.

    A cancelled await stops waiting, but the statement is not taken back: it may still
    be carried out.  After `close()` every use raises `ValueError`.
    """

    def __init__(self, connector: Callable[[], sqlite3.Connection]) -> None:
        super().__init__(connector, _CHUNK_ROWS)
        # A connection that nobody closed must not keep the process from ending; to
        # SQLite the sudden end of a thread is a crash, which it survives.
        self._thread.daemon = True

    def stop(self) -> _Waiter | None:  # type: ignore[override]
        """End the thread after what is queued.  For `close()` and `__del__`."""
        self._running = False
        try:
            waiter = _Waiter()
        except RuntimeError:  # outside a Trio run: nobody can wait
            waiter = None
        self._queue(waiter, self._close_and_stop)
        return waiter

    def _close_and_stop(self) -> object:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        return core._STOP_RUNNING_SENTINEL  # noqa: SLF001 - pinned by a test

    async def _execute(
        self, fn: Callable[..., Any], *args: object, **kwargs: object
    ) -> Any:
        if not self._running or self._connection is None:
            msg = "Connection closed"
            raise ValueError(msg)
        waiter = _Waiter()
        self._queue(waiter, partial(fn, *args, **kwargs))
        return await waiter.wait()

    async def _connect(self) -> "TrioConnection":
        if self._connection is None:
            waiter = _Waiter()
            self._queue(waiter, self._connector)
            try:
                # Half an opening cannot be taken back: the connection would be lost,
                # not closed.
                with trio.CancelScope(shield=True):
                    self._connection = await waiter.wait()
            except BaseException:
                self.stop()
                raise
        return self

    def __await__(self) -> Generator[Any, None, "TrioConnection"]:
        return cast("Generator[Any, None, TrioConnection]", super().__await__())

    def _queue(self, waiter: _Waiter | None, fn: Callable[[], object]) -> None:
        self._tx.put_nowait((cast("Any", waiter), fn))

    async def run(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """Run `fn(connection)` on the thread; see `Worker.run`."""
        return cast("T", await self._execute(lambda: fn(self._conn)))

    def here(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """See `Worker.here`."""
        if not self._running or self._connection is None:
            msg = "Connection closed"
            raise ValueError(msg)
        return fn(self._conn)

    def interrupt_now(self) -> None:
        """See `Worker.interrupt_now`."""
        if self._connection is not None:
            self._connection.interrupt()

    async def close(self) -> None:
        """Run what is queued, close the connection and end the thread."""
        with trio.move_on_after(CLOSE_SECONDS, shield=True) as scope:
            await super().close()
        if scope.cancelled_caught:
            core.LOG.error("a connection did not close within %s s", CLOSE_SECONDS)
        elif self._thread.is_alive():
            self._thread.join(CLOSE_SECONDS)


@attrs.frozen
class ThreadRunner:
    """Each connection on a thread of its own."""

    async def open(self, connector: Callable[[], sqlite3.Connection]) -> Worker:
        """Open a connection on a new thread; raise what `connector` raises."""
        return await TrioConnection(connector)
