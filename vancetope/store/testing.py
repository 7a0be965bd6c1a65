"""The inline runner: the store without threads, for tests under virtual time.

Trio's autojump clock moves on while a real thread is still working, so that a lease
would run out during a commit.  With this runner the same SQL runs in the event loop.
"""

import sqlite3
from collections.abc import Callable
from typing import TypeVar

import attrs
import trio

from vancetope.store.connection import Worker

T = TypeVar("T")


@attrs.define(eq=False)
class InlineWorker:
    """A `Worker` whose thread is the event loop's."""

    _connection: sqlite3.Connection | None

    async def run(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """Yield once to the other tasks, then run `fn(connection)`."""
        self._open()
        await trio.lowlevel.checkpoint()
        return fn(self._open())

    def here(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """Run `fn(connection)` at once."""
        return fn(self._open())

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            msg = "Connection closed"
            raise ValueError(msg)
        return self._connection

    def interrupt_now(self) -> None:
        """Nothing: no statement can be running while the event loop does."""

    async def close(self) -> None:
        """Close the connection; safe to call twice."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        await trio.lowlevel.cancel_shielded_checkpoint()


@attrs.frozen
class InlineRunner:
    """Opens connections that live in the event loop."""

    async def open(self, connector: Callable[[], sqlite3.Connection]) -> Worker:
        """Open a connection here; raise what `connector` raises."""
        await trio.lowlevel.cancel_shielded_checkpoint()
        return InlineWorker(connector())
