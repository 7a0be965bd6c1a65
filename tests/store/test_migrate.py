"""Migrations: from zero, step by step, and everything that can be wrong with them."""

import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.clock import ManualClock
from vancetope.errors import NewerSchema, StoreError
from vancetope.store import migrate


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "migrations"
    made.mkdir()
    (made / "0001_initial.sql").write_text("CREATE TABLE a (n INTEGER PRIMARY KEY);\n")
    return made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "brain.db"


@pytest.fixture
def conn(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as made:
        yield made


def add(folder: Path, name: str, sql: str) -> None:
    (folder / name).write_text(sql)


def tables(conn: sqlite3.Connection) -> set[str]:
    return {r[0] for r in conn.execute("SELECT name FROM sqlite_schema")}


def test_from_zero_every_migration_is_applied_and_recorded(
    conn: sqlite3.Connection, folder: Path
) -> None:
    add(folder, "0002_more.sql", "CREATE TABLE b (n); INSERT INTO b VALUES (1);")
    clock = ManualClock(1_234)
    applied = migrate.apply(conn, clock=clock, folder=folder)
    assert [str(m) for m in applied] == ["0001_initial", "0002_more"]
    assert migrate.current_version(conn) == migrate.latest_version(folder) == 2
    rows = conn.execute("SELECT * FROM schema_migration ORDER BY version").fetchall()
    assert rows == [(m.version, m.name, 1_234, m.digest) for m in applied]
    assert migrate.apply(conn, clock=clock, folder=folder) == []


def test_pending_tells_what_an_opening_would_do_and_creates_nothing(
    path: Path, folder: Path
) -> None:
    assert [m.version for m in migrate.pending(path, folder=folder)] == [1]
    assert not path.exists()
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        migrate.apply(conn, folder=folder)
    assert migrate.pending(path, folder=folder) == []
    add(folder, "0002_more.sql", "CREATE TABLE b (n);")
    assert [m.name for m in migrate.pending(path, folder=folder)] == ["more"]
    assert [p.name for p in path.parent.glob("brain.db*")] == ["brain.db"]


def test_pending_reads_a_cleanly_closed_write_ahead_log_database(
    path: Path, folder: Path
) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute("PRAGMA journal_mode = WAL")
        migrate.apply(conn, folder=folder)
    assert migrate.pending(path, folder=folder) == []


def test_pending_on_a_file_that_is_no_database_is_a_readable_error(
    path: Path, folder: Path
) -> None:
    path.write_bytes(b"no database at all" * 50)
    with pytest.raises(StoreError, match="cannot read the database"):
        migrate.pending(path, folder=folder)


def test_a_failing_statement_leaves_the_version_before_it(
    conn: sqlite3.Connection, folder: Path
) -> None:
    add(
        folder,
        "0002_more.sql",
        "CREATE TABLE b (n);\n-- why\nINSERT INTO c\nVALUES (1);",
    )
    with pytest.raises(
        StoreError, match=r"0002_more failed at `INSERT INTO c`: no such"
    ):
        migrate.apply(conn, folder=folder)
    assert migrate.current_version(conn) == 1
    assert tables(conn) == {"a", "schema_migration"}
    assert not conn.in_transaction


def test_control_executescript_would_leave_half_of_it(conn: sqlite3.Connection) -> None:
    # Why statements run one by one: it commits the transaction it is called in.
    conn.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqlite3.OperationalError):
        conn.executescript("CREATE TABLE b (n); INSERT INTO c VALUES (1);")
    if conn.in_transaction:
        conn.execute("ROLLBACK")
    assert tables(conn) == {"b"}


def test_another_programs_database_is_not_taken_over(
    conn: sqlite3.Connection, folder: Path
) -> None:
    conn.execute("CREATE TABLE theirs (n)")
    with pytest.raises(StoreError, match="none of this program's"):
        migrate.apply(conn, folder=folder)
    assert tables(conn) == {"theirs"}


def test_a_newer_database_is_refused_naming_both_versions(
    conn: sqlite3.Connection, path: Path, folder: Path
) -> None:
    conn.execute("PRAGMA user_version = 9")
    said = r"version 9.* up to 1\. Install"
    with pytest.raises(NewerSchema, match=said):
        migrate.apply(conn, folder=folder)
    with pytest.raises(NewerSchema, match=said):
        migrate.pending(path, folder=folder)
    assert tables(conn) == set()


def test_a_newer_database_names_the_newest_backup_there_is(
    conn: sqlite3.Connection, path: Path, folder: Path
) -> None:
    add(folder, "0002_more.sql", "CREATE TABLE b (n);")
    conn.execute("PRAGMA user_version = 9")

    def said() -> str:
        with pytest.raises(NewerSchema) as refused:
            migrate.pending(path, folder=folder)
        return refused.value.fix

    assert said() == "Install the newer program again."
    (path.parent / "brain.db.v8.bak").touch()  # nothing for this program either
    assert said() == "Install the newer program again."
    for version in (1, 2):
        backup = path.parent / f"brain.db.v{version}.bak"
        backup.touch()
        fix = f"Install the newer program again, or restore the backup {backup}."
        assert said() == fix


def test_a_change_to_an_applied_migration_is_an_error(
    conn: sqlite3.Connection, path: Path, folder: Path
) -> None:
    migrate.apply(conn, folder=folder)
    add(folder, "0001_initial.sql", "CREATE TABLE a (n INTEGER);\n")
    with pytest.raises(StoreError, match="0001_initial is not the one"):
        migrate.apply(conn, folder=folder)
    with pytest.raises(StoreError, match="0001_initial is not the one"):
        migrate.pending(path, folder=folder)


def test_line_ends_do_not_change_a_digest(
    conn: sqlite3.Connection, folder: Path
) -> None:
    migrate.apply(conn, folder=folder)
    file = folder / "0001_initial.sql"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert migrate.apply(conn, folder=folder) == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("0003_gap.sql", "number 0002"),
        ("0001_twice.sql", "number 0002"),
        ("2_short.sql", "number 0002"),
        ("0002-dash.sql", "number 0002"),
    ],
)
def test_a_wrongly_named_file_is_an_error(folder: Path, name: str, reason: str) -> None:
    add(folder, name, "")
    with pytest.raises(StoreError, match=reason):
        migrate.load(folder)


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no migrations"):
        migrate.load(tmp_path)


@pytest.mark.parametrize(
    "sql",
    [
        "COMMIT;",
        "CREATE TABLE b (n);\n-- so\ncommit;\nCREATE TABLE c (n);",
        "BEGIN; CREATE TABLE b (n);",
        "ROLLBACK;",
        "end;",
        "VACUUM;",
        "ATTACH 'x' AS y;",
        "SAVEPOINT s;",
    ],
)
def test_a_migration_may_not_leave_its_transaction(
    conn: sqlite3.Connection, folder: Path, sql: str
) -> None:
    add(folder, "0002_more.sql", sql)
    with pytest.raises(StoreError, match="it runs in one transaction"):
        migrate.apply(conn, folder=folder)
    assert tables(conn) == {"a", "schema_migration"}


def test_a_table_that_others_refer_to_can_be_rebuilt(
    conn: sqlite3.Connection, folder: Path
) -> None:
    add(
        folder,
        "0002_refer.sql",
        "CREATE TABLE b (a INTEGER NOT NULL REFERENCES a (n));"
        "INSERT INTO a VALUES (1); INSERT INTO b VALUES (1);",
    )
    add(
        folder,
        "0003_rebuild.sql",
        "CREATE TABLE a_new (n INTEGER PRIMARY KEY, x TEXT);"
        "INSERT INTO a_new SELECT n, 'x' FROM a; DROP TABLE a;"
        "ALTER TABLE a_new RENAME TO a;",
    )
    conn.execute("PRAGMA foreign_keys = ON")
    migrate.apply(conn, folder=folder)
    assert conn.execute("SELECT x FROM b JOIN a ON b.a = a.n").fetchall() == [("x",)]
    assert conn.execute("PRAGMA foreign_keys").fetchone() == (1,)


def test_a_migration_that_leaves_a_dangling_reference_is_rolled_back(
    conn: sqlite3.Connection, folder: Path
) -> None:
    add(
        folder,
        "0002_refer.sql",
        "CREATE TABLE b (a INTEGER REFERENCES a (n)); INSERT INTO b VALUES (5);",
    )
    with pytest.raises(StoreError, match="dangling reference in b"):
        migrate.apply(conn, folder=folder)
    assert migrate.current_version(conn) == 1


# ------------------------------------------------------------------------- backup


def test_an_existing_database_is_backed_up_before_it_is_migrated(
    conn: sqlite3.Connection, path: Path, folder: Path
) -> None:
    migrate.apply(conn, folder=folder)
    assert not list(path.parent.glob("*.bak"))  # there was nothing to lose
    conn.execute("INSERT INTO a VALUES (42)")
    add(folder, "0002_more.sql", "DELETE FROM a;")
    migrate.apply(conn, folder=folder)
    backup = path.parent / "brain.db.v1.bak"
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    with closing(sqlite3.connect(backup)) as copy:
        assert copy.execute("SELECT n FROM a").fetchall() == [(42,)]
        assert migrate.current_version(copy) == 1
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    names = {p.name for p in path.parent.iterdir()}
    assert names == {"migrations", "brain.db", "brain.db.v1.bak"}


def test_without_a_backup_nothing_is_migrated(
    conn: sqlite3.Connection, path: Path, folder: Path
) -> None:
    migrate.apply(conn, folder=folder)
    add(folder, "0002_more.sql", "CREATE TABLE b (n);")
    (path.parent / "brain.db.v1.bak.partial").mkdir()  # in the way
    with pytest.raises(StoreError, match="cannot write the backup"):
        migrate.apply(conn, folder=folder)
    assert migrate.current_version(conn) == 1


# ---------------------------------------------------------------------- statements


def test_triggers_strings_and_comments_are_not_torn_apart() -> None:
    parts = [
        "-- first; really\nCREATE TABLE a (n TEXT DEFAULT ';');",
        "CREATE TRIGGER t AFTER INSERT ON a BEGIN\n  DELETE FROM a;\n  SELECT 1;\nEND;",
        "/* a; b */ INSERT INTO a VALUES ('it''s; -- fine');",
        "SELECT 1",
    ]
    assert list(migrate.statements("\n".join(parts) + "\n-- the end;\n")) == [
        *parts[:3],
        "SELECT 1\n-- the end;",
    ]


@given(
    st.lists(
        st.sampled_from(
            [
                "CREATE TABLE x (n);",
                "INSERT INTO x VALUES (';');",
                "CREATE TRIGGER t AFTER INSERT ON x BEGIN SELECT 1; SELECT 2; END;",
                "/* ; */ SELECT 1;",
                "-- ;\nSELECT 2;",
            ]
        )
    )
)
def test_a_script_is_split_where_it_was_joined(parts: list[str]) -> None:
    assert list(migrate.statements("\n".join(parts))) == parts


# --------------------------------------------------------------- the real migrations


def test_the_programs_own_migrations_are_found_from_the_checkout() -> None:
    assert migrate.migrations_folder() == Path(__file__).parents[2] / "migrations"
    assert migrate.latest_version() == len(migrate.load())


def test_an_installed_program_has_them_inside_the_package(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site-packages" / "vancetope"
    monkeypatch.setattr(migrate, "_PACKAGE", package)
    assert migrate.migrations_folder() == tmp_path / "site-packages" / "migrations"
    package.mkdir(parents=True)
    folder.rename(package / "_migrations")
    assert [m.name for m in migrate.load()] == ["initial"]
