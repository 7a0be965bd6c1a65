"""SIGKILL at chosen points, in real processes; what was acknowledged is there."""

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from vancetope.clock import ManualClock
from vancetope.events import Bus
from vancetope.store import migrate
from vancetope.store.db import open_store

pytestmark = pytest.mark.slow

#: Kills the process from inside an SQL statement: `SELECT die()`.
DIE = "conn.create_function('die', 0, lambda: os.kill(os.getpid(), signal.SIGKILL))\n"

MIGRATE = (
    "import os, signal, sqlite3, sys\n"
    "from pathlib import Path\n"
    "from vancetope.store import migrate\n"
    "conn = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
    "conn.execute('PRAGMA journal_mode = WAL')\n"
    + DIE
    + "migrate.apply(conn, folder=Path(sys.argv[2]))\n"
)

#: The control: the same statements without the transaction.
MIGRATE_BARE = (
    "import os, signal, sqlite3, sys\n"
    "from pathlib import Path\n"
    "from vancetope.store import migrate\n"
    "conn = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
    "conn.execute('PRAGMA journal_mode = WAL')\n"
    + DIE
    + "for migration in migrate.unapplied(conn, folder=Path(sys.argv[2])):\n"
    "    for statement in migrate.statements(migration.sql):\n"
    "        conn.execute(statement)\n"
)

WRITE = (
    "import os, sys, trio\n"
    "from pathlib import Path\n"
    "from vancetope.clock import SystemClock\n"
    "from vancetope.events import Bus\n"
    "from vancetope.store.db import open_store\n"
    "async def main():\n"
    "    async with open_store(Path(sys.argv[1]), clock=SystemClock(), bus=Bus(),\n"
    "                          migrations=Path(sys.argv[2])) as store:\n"
    "        async def write(n):\n"
    "            while True:\n"
    "                name = f'{n}-{os.urandom(6).hex()}'\n"
    "                await store.write(lambda tx: tx.conn.execute(\n"
    "                    'INSERT INTO item (name) VALUES (?)', (name,)).rowcount)\n"
    "                os.write(1, f'{name}\\n'.encode())\n"
    "        async with trio.open_nursery() as nursery:\n"
    "            for n in range(8):\n"
    "                nursery.start_soon(write, n)\n"
    "trio.run(main)\n"
)


def start(code: str, *args: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, args)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )


def migrated_up_to_one(path: Path, folder: Path, second: list[str]) -> None:
    (folder / "0002_more.sql").unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        migrate.apply(conn, clock=ManualClock(), folder=folder)
        conn.execute("INSERT INTO item (name) VALUES ('kept')")
    (folder / "0002_more.sql").write_text("".join(second))


def state(path: Path) -> tuple[int, set[str], list[str]]:
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        assert conn.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        tables = {r[0] for r in conn.execute("SELECT name FROM sqlite_schema")}
        items = [r[0] for r in conn.execute("SELECT name FROM item")]
        return migrate.current_version(conn), tables & {"one", "two"}, items


STEPS = ["CREATE TABLE one (n);", "DELETE FROM item;", "CREATE TABLE two (n);"]


@pytest.mark.parametrize("point", range(4))
def test_a_migration_killed_at_any_statement_leaves_the_old_version(
    tmp_path: Path, migrations: Path, point: int
) -> None:
    path = tmp_path / "brain.db"
    steps = [*STEPS[:point], "SELECT die();", *STEPS[point:]]
    migrated_up_to_one(path, migrations, steps)
    with start(MIGRATE, path, migrations) as child:
        assert child.wait(60) == -signal.SIGKILL
    assert state(path) == (1, set(), ["kept"])
    (migrations / "0002_more.sql").write_text("".join(STEPS))
    with start(MIGRATE, path, migrations) as child:
        assert child.wait(60) == 0
    assert state(path) == (2, {"one", "two"}, [])


def test_control_without_the_transaction_half_a_migration_would_be_there(
    tmp_path: Path, migrations: Path
) -> None:
    path = tmp_path / "brain.db"
    migrated_up_to_one(path, migrations, [*STEPS[:2], "SELECT die();", STEPS[2]])
    with start(MIGRATE_BARE, path, migrations) as child:
        assert child.wait(60) == -signal.SIGKILL
    assert state(path) == (1, {"one"}, [])


@pytest.mark.parametrize("acknowledged", [1, 50, 400])
async def test_what_was_acknowledged_before_a_sigkill_is_there(
    tmp_path: Path, migrations: Path, acknowledged: int
) -> None:
    path = tmp_path / "brain.db"
    with start(WRITE, path, migrations) as child:
        assert child.stdout is not None
        told = [child.stdout.readline() for _ in range(acknowledged)]
        child.kill()
        told += child.stdout.readlines()
    names = {line.strip() for line in told if line.endswith("\n")}
    assert len(names) >= acknowledged
    async with open_store(
        path, clock=ManualClock(), bus=Bus(), migrations=migrations
    ) as store:
        assert store.unclean_stop
        assert (await store.check()).ok
        rows = store.read(lambda c: c.execute("SELECT name FROM item").fetchall())
    assert names <= {row["name"] for row in rows}
