"""Schema versions: numbered SQL files, each applied in one transaction.

`migrations/NNNN_name.sql` is plain SQL without transaction control.  A file's
statements, the row that says it was applied and `PRAGMA user_version` are one
`BEGIN IMMEDIATE ... COMMIT`: a process killed half-way leaves the old version.
Statements run one by one, because `executescript` commits before it begins.
"""

import hashlib
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import attrs

from vancetope.clock import Clock, SystemClock
from vancetope.errors import NewerSchema, StoreError

_FILE_NAME: Final = re.compile(r"(?P<version>\d{4})_(?P<name>[a-z0-9_]+)\.sql")
_COMMENT: Final = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)

#: What a migration may not say: it would leave the transaction it runs in.
_FORBIDDEN: Final = frozenset(
    [
        "ATTACH",
        "BEGIN",
        "COMMIT",
        "DETACH",
        "END",
        "RELEASE",
        "ROLLBACK",
        "SAVEPOINT",
        "VACUUM",
    ]
)

_BOOKKEEPING: Final = (
    "CREATE TABLE IF NOT EXISTS schema_migration ("
    " version INTEGER PRIMARY KEY, name TEXT NOT NULL,"
    " applied_at INTEGER NOT NULL, digest TEXT NOT NULL) STRICT"
)

_PACKAGE: Final = Path(__file__).resolve().parent.parent


@attrs.frozen(kw_only=True)
class Migration:
    """One file.

    Attributes:
        version: its number, from 1, without gaps.
        name: the rest of its file name.
        sql: its text.
        digest: SHA-256 of the text with Unix line ends, 64 hex digits.
    """

    version: int
    name: str
    sql: str
    digest: str

    def __str__(self) -> str:
        return f"{self.version:04}_{self.name}"


def migrations_folder() -> Path:
    """Where the files are: inside an installed wheel, else beside the package."""
    installed = _PACKAGE / "_migrations"
    return installed if installed.is_dir() else _PACKAGE.parent / "migrations"


def load(folder: Path | None = None) -> list[Migration]:
    """All migrations, oldest first.

    Raises:
        StoreError: a file has a name of another form, or a number is missing or used
            twice, or there is none.
    """
    folder = folder or migrations_folder()
    migrations: list[Migration] = []
    for path in sorted(folder.glob("*.sql")):
        match = _FILE_NAME.fullmatch(path.name)
        expected = len(migrations) + 1
        if match is None or int(match["version"]) != expected:
            msg = f"{path} should be the migration number {expected:04}"
            raise StoreError(msg, fix="Name it NNNN_name.sql, numbered without gaps.")
        sql = path.read_text(encoding="utf-8")
        migrations.append(
            Migration(
                version=expected,
                name=match["name"],
                sql=sql,
                digest=hashlib.sha256(sql.encode()).hexdigest(),
            )
        )
    if not migrations:
        msg = f"no migrations in {folder}"
        raise StoreError(msg, fix="Install the program again: it is not complete.")
    return migrations


def latest_version(folder: Path | None = None) -> int:
    """The schema version that this program writes."""
    return load(folder)[-1].version


def current_version(conn: sqlite3.Connection) -> int:
    """The schema version of the database; 0 for an empty one."""
    return int(conn.execute("PRAGMA user_version").fetchone()[0])


def pending(path: Path, *, folder: Path | None = None) -> list[Migration]:
    """The migrations that opening the database at `path` would apply.

    Creates nothing.  Not for the database of a running Brain.

    Raises:
        NewerSchema: the database was written by a newer program.
        StoreError: an applied migration was changed since, or no database.
    """
    if not path.exists():
        return load(folder)
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as conn:
            conn.execute("PRAGMA query_only = ON")
            return unapplied(conn, folder=folder)
    except sqlite3.Error as exc:
        msg = f"cannot read the database {path}: {exc}"
        raise StoreError(msg, fix="Restore a backup, or move it away.") from exc


def unapplied(
    conn: sqlite3.Connection, *, folder: Path | None = None
) -> list[Migration]:
    """The migrations this database lacks, after checking those it has.

    Raises:
        NewerSchema: the database was written by a newer program.
        StoreError: an applied migration was changed since, or the database is another
            program's.
    """
    migrations = load(folder)
    current, latest = current_version(conn), migrations[-1].version
    if current == 0 and conn.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
        msg = "the database has tables, but none of this program's"
        raise StoreError(msg, fix="Move the file away, or name another --home DIR.")
    if current > latest:
        msg = (
            f"the database has schema version {current},"
            f" this program knows versions up to {latest}"
        )
        fix = "Install the newer program again"
        backup = _backup_up_to(conn, latest)
        fix += f", or restore the backup {backup}." if backup else "."
        raise NewerSchema(msg, fix=fix)
    applied = _applied_digests(conn) if current else {}
    for migration in migrations[:current]:
        if applied.get(migration.version) != migration.digest:
            msg = f"migration {migration} is not the one this database was made with"
            fix = "Undo the change to that file and add a new migration instead."
            raise StoreError(msg, fix=fix)
    return migrations[current:]


def apply(
    conn: sqlite3.Connection,
    *,
    clock: Clock | None = None,
    folder: Path | None = None,
) -> list[Migration]:
    """Bring the database up to date; returns what was applied.

    A database that already holds something is copied to `<file>.v<version>.bak` first.
    The connection must be in autocommit mode (`isolation_level=None`), outside a
    transaction.

    Raises:
        NewerSchema: the database was written by a newer program.
        StoreError: a migration failed (the versions before it stand), or an applied
            one was changed since, or the backup could not be written.
    """
    todo = unapplied(conn, folder=folder)
    if not todo:
        return []
    _back_up(conn)
    with _foreign_keys_off(conn):
        for migration in todo:
            _apply_one(conn, migration, clock or SystemClock())
    return todo


def schema_text(conn: sqlite3.Connection) -> str:
    """The schema as SQL, in the order of names: what the snapshot compares."""
    rows = conn.execute(
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL"
        " AND name NOT LIKE 'sqlite^_%' ESCAPE '^' ORDER BY tbl_name, type DESC, name"
    )
    return "".join(f"{row[0]};\n\n" for row in rows)


def statements(sql: str) -> Iterator[str]:
    """The single statements of a script; trigger bodies and strings stay whole."""
    *ended, last = sql.split(";")
    statement = ""
    for piece in ended:
        statement += piece + ";"
        if sqlite3.complete_statement(statement):
            yield statement.strip()
            statement = ""
    rest = statement + last
    if _COMMENT.sub("", rest).strip():
        yield rest.strip()


def _apply_one(conn: sqlite3.Connection, migration: Migration, clock: Clock) -> None:
    statement = "BEGIN IMMEDIATE"
    try:
        conn.execute(statement)
        if current_version(conn) != migration.version - 1:
            msg = "another program migrates this database"
            raise StoreError(msg, fix="Wait for it, then try again.")
        for statement in statements(migration.sql):
            _refuse_transaction_control(migration, statement)
            conn.execute(statement)
        statement = "PRAGMA foreign_key_check"
        if (broken := conn.execute(statement).fetchone()) is not None:
            msg = f"migration {migration} leaves a dangling reference in {broken[0]}"
            raise StoreError(msg, fix="Report it; the database was left as it was.")
        statement = "(marking the version)"
        conn.execute(_BOOKKEEPING)
        conn.execute(
            "INSERT INTO schema_migration VALUES (?, ?, ?, ?)",
            (migration.version, migration.name, clock.now_ms(), migration.digest),
        )
        conn.execute(f"PRAGMA user_version = {migration.version:d}")
        conn.execute("COMMIT")
    except sqlite3.Error as exc:
        first_line = _COMMENT.sub("", statement).strip().partition("\n")[0]
        msg = f"migration {migration} failed at `{first_line}`: {exc}"
        fix = "The database was left as it was; mend the cause and start again."
        raise StoreError(msg, fix=fix) from exc
    finally:
        if conn.in_transaction:
            conn.execute("ROLLBACK")


def _refuse_transaction_control(migration: Migration, statement: str) -> None:
    word = _COMMENT.sub("", statement).split(maxsplit=1)[0].upper().rstrip(";")
    if word in _FORBIDDEN:
        msg = f"migration {migration} says {word}, but it runs in one transaction"
        raise StoreError(msg, fix="Remove that statement from the file.")


def _applied_digests(conn: sqlite3.Connection) -> dict[int, str]:
    try:
        rows = conn.execute("SELECT version, digest FROM schema_migration").fetchall()
    except sqlite3.OperationalError as exc:
        msg = f"this file is another program's database ({exc})"
        raise StoreError(msg, fix="Move it away, or name another home.") from exc
    return {int(row[0]): str(row[1]) for row in rows}


@contextmanager
def _foreign_keys_off(conn: sqlite3.Connection) -> Iterator[None]:
    """As SQLite's own recipe for altering tables asks; the check comes at the end."""
    before = int(conn.execute("PRAGMA foreign_keys").fetchone()[0])
    conn.execute("PRAGMA foreign_keys = OFF")
    try:
        yield
    finally:
        conn.execute(f"PRAGMA foreign_keys = {before:d}")


def _file(conn: sqlite3.Connection) -> str:
    """The path of the database; empty when it is in memory."""
    return str(conn.execute("PRAGMA database_list").fetchone()[2])


def _backup(file: str, version: int) -> Path:
    return Path(f"{file}.v{version}.bak")


def _backup_up_to(conn: sqlite3.Connection, latest: int) -> Path | None:
    """The newest backup there is that this program can read."""
    file = _file(conn)
    found = (_backup(file, version) for version in range(latest, 0, -1))
    return next((path for path in found if file and path.is_file()), None)


def _back_up(conn: sqlite3.Connection) -> None:
    file = _file(conn)
    empty = conn.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is None
    if not file or empty:
        return
    target = _backup(file, current_version(conn))
    partial = Path(f"{target}.partial")
    try:
        partial.unlink(missing_ok=True)
        partial.touch(mode=0o600)
        with closing(sqlite3.connect(partial, isolation_level=None)) as copy:
            conn.backup(copy)
        partial.replace(target)
    except (OSError, sqlite3.Error) as exc:
        msg = f"cannot write the backup {target}: {exc}"
        fix = "Make room there; nothing was migrated."
        raise StoreError(msg, fix=fix) from exc
