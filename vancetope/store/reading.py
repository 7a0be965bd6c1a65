"""Reads: a consistent snapshot, and a slow one that can be broken off."""

import sqlite3
from collections.abc import Callable
from typing import Final, Generic, TypeVar

import attrs
import trio

from vancetope.store.batch import rows_only
from vancetope.store.connection import Worker

T = TypeVar("T")

#: Seconds to wait until an interrupted query has stopped.
INTERRUPT_SECONDS: Final = 5.0

#: Virtual machine steps after which a running query looks whether it is still wanted.
STEPS: Final = 10_000


def snapshot(conn: sqlite3.Connection, fn: Callable[[sqlite3.Connection], T]) -> T:
    """Run `fn(conn)`, all its statements on the state that is committed now.

    Raises:
        TypeError: `fn` returned a cursor.
        sqlite3.Error: what a statement raises.
    """
    nested = conn.in_transaction
    if nested:  # a read inside a read sees what that one sees
        return rows_only(fn(conn))
    conn.execute("BEGIN")
    try:
        return rows_only(fn(conn))
    finally:
        if conn.in_transaction:
            conn.execute("COMMIT")


async def run_cancellable(worker: Worker, fn: Callable[[sqlite3.Connection], T]) -> T:
    """Run `fn` on the worker; cancellation interrupts it and waits until it is out.

    Nobody else may use the worker meanwhile: the interrupt would be theirs.
    """
    asked = _Asked(fn)
    try:
        return await worker.run(asked.answer)
    except trio.Cancelled:
        asked.wanted = False
        worker.interrupt_now()
        with trio.move_on_after(INTERRUPT_SECONDS, shield=True):
            await worker.run(_nothing)
        raise


@attrs.define(eq=False)
class _Asked(Generic[T]):
    """A read that stops by itself once it is not wanted any more.

    An interrupt that comes between two statements is lost; the progress handler sees
    to the next statement.
    """

    fn: Callable[[sqlite3.Connection], T]
    wanted: bool = True

    def answer(self, conn: sqlite3.Connection) -> T:
        conn.set_progress_handler(lambda: not self.wanted, STEPS)
        try:
            return snapshot(conn, self.fn)
        finally:
            conn.set_progress_handler(None, STEPS)


def _nothing(_conn: sqlite3.Connection) -> None:
    """Comes up once whatever was running has ended."""
