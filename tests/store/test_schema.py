"""The real migrations, from zero, give the schema in `schema.snapshot.sql`.

To write the snapshot anew: `python -m tests.store.test_schema --write`.
"""

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

from vancetope.clock import ManualClock
from vancetope.events import Bus
from vancetope.store import migrate
from vancetope.store.db import open_store
from vancetope.store.testing import InlineRunner

SNAPSHOT = Path(__file__).with_name("schema.snapshot.sql")


def schema_from_zero() -> str:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as conn:
        migrate.apply(conn, clock=ManualClock())
        return migrate.schema_text(conn)


def test_from_zero_the_migrations_give_the_schema_of_the_snapshot() -> None:
    # The diff pytest shows is what a migration changes: read it, then write it anew.
    assert schema_from_zero() == SNAPSHOT.read_text(encoding="utf-8")


def test_every_table_is_strict() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as conn:
        migrate.apply(conn, clock=ManualClock())
        rows = conn.execute("PRAGMA table_list").fetchall()
    lax = [r[1] for r in rows if not r[5] and not r[1].startswith("sqlite_")]
    assert lax == []


async def test_the_store_opens_on_the_real_schema(tmp_path: Path) -> None:
    clock, bus = ManualClock(), Bus()
    path = tmp_path / "brain.db"
    async with open_store(path, clock=clock, bus=bus, runner=InlineRunner()) as store:
        seq = await store.write(lambda tx: tx.emit("started", body={"ok": True}))
        row = store.read(lambda c: c.execute("SELECT * FROM event").fetchone())
    assert (row["seq"], row["at"], row["kind"]) == (seq, clock.now_ms(), "started")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    SNAPSHOT.write_text(schema_from_zero(), encoding="utf-8")
