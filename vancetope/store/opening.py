"""Making connections, and the marker that tells a clean stop from a crash."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from vancetope.clock import Clock
from vancetope.errors import StoreError
from vancetope.store import migrate
from vancetope.store.tx import JobConnection

#: Seconds a connection waits for a lock that a backup tool holds, while it is opened.
BUSY_SECONDS: Final = 5.0

#: Prepared statements kept for each connection.
STATEMENTS: Final = 256

#: The row of `meta` that is there only while no Brain has the file open.
_CLEAN_STOP: Final = "clean_stop"

# FULL: with NORMAL a power cut takes back commits that were already acknowledged.
# fullfsync is the same promise on macOS, where fsync stops at the drive's cache.
_WRITER: Final = (
    "PRAGMA synchronous = FULL",
    "PRAGMA fullfsync = ON",
    "PRAGMA checkpoint_fullfsync = ON",
    "PRAGMA foreign_keys = ON",
    "PRAGMA journal_size_limit = 67108864",
)
_READER: Final = ("PRAGMA query_only = ON", "PRAGMA wal_autocheckpoint = 0")
_BOTH: Final = ("PRAGMA cell_size_check = ON", "PRAGMA mmap_size = 0")


def create_file(path: Path) -> None:
    """Make an empty database file (0600) and its directory (0700) where none is.

    Only a file that did not exist is ever opened here: to close a database file by
    other means than SQLite drops the locks SQLite holds on it.

    Raises:
        OSError: neither exists nor can be made.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return


def connect_writer(path: Path) -> sqlite3.Connection:
    """The connection that writes, as yet without its settings."""
    return _connect(path, JobConnection)


def connect_reader(path: Path) -> sqlite3.Connection:
    """A connection that cannot write, nor checkpoint."""
    conn = _connect(path, sqlite3.Connection)
    try:
        for pragma in (*_BOTH, *_READER):
            conn.execute(pragma)
    except sqlite3.Error:
        conn.close()
        raise
    return conn


def prepare(
    conn: sqlite3.Connection, *, clock: Clock, migrations: Path | None = None
) -> bool:
    """Check the version, set up, migrate, and take the clean-stop marker away.

    Returns:
        Whether the last Brain on this file was not stopped cleanly.

    Raises:
        NewerSchema: before anything was changed.
        StoreError: no write-ahead log is to be had here, or a migration failed.
    """
    migrate.unapplied(conn, folder=migrations)
    used_before = migrate.current_version(conn) > 0
    mode = conn.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        msg = f"the database cannot use a write-ahead log here (SQLite says {mode!r})"
        raise StoreError(msg, fix="Put the home on a local disk with --home DIR.")
    for pragma in (*_BOTH, *_WRITER):
        conn.execute(pragma)
    migrate.apply(conn, clock=clock, folder=migrations)
    conn.execute("PRAGMA busy_timeout = 0")  # from here on `Batch` says who waits
    cursor = conn.execute("DELETE FROM meta WHERE key = ?", (_CLEAN_STOP,))
    return used_before and cursor.rowcount == 0


def mark_clean_stop(conn: sqlite3.Connection, *, clock: Clock) -> None:
    """The last write: say that nothing was under way, and empty the log."""
    conn.execute(
        "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)",
        (_CLEAN_STOP, str(clock.now_ms())),
    )
    conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


@contextmanager
def readable_errors(path: Path) -> Iterator[None]:
    """Turn what SQLite and the system say into a line with a fix."""
    try:
        yield
    except sqlite3.DatabaseError as exc:
        msg = f"cannot open the database {path}: {exc}"
        fix = "Close other programs that use it, check the disk, or restore a backup."
        raise StoreError(msg, fix=fix) from exc
    except OSError as exc:
        msg = f"cannot make the database {path}: {exc.strerror or exc}"
        fix = "Make the directory writable, or name another with --home DIR."
        raise StoreError(msg, fix=fix) from exc


def _connect(path: Path, factory: type[sqlite3.Connection]) -> sqlite3.Connection:
    conn = sqlite3.connect(
        path,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        # The writer's thread and the event loop take turns; never both at once.
        check_same_thread=False,
        cached_statements=STATEMENTS,
        factory=factory,
    )
    conn.row_factory = sqlite3.Row
    return conn
