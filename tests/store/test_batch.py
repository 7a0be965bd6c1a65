"""What a batch does when SQLite itself fails, and the controls for its savepoints."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.store.conftest import SCHEMA
from vancetope.clock import ManualClock
from vancetope.errors import Unavailable
from vancetope.store.batch import Batch, Job
from vancetope.store.tx import JobConnection, Tx


class FaultyConnection(JobConnection):
    """Fails the statements it is told to; can be made to ignore savepoints."""

    fail_on: str | None = None
    with_code: int = sqlite3.SQLITE_IOERR
    savepoints: bool = True

    def execute(self, sql: str, *args: object) -> sqlite3.Cursor:
        if sql == self.fail_on:
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = self.with_code
            raise error
        if sql.endswith(" job") and not self.savepoints:
            return self.cursor()
        return super().execute(sql, *args)  # type: ignore[arg-type]


@pytest.fixture
def conn(tmp_path: Path) -> Iterator[FaultyConnection]:
    path = tmp_path / "b.db"
    with closing(sqlite3.connect(path)) as plain:
        plain.executescript(SCHEMA)
    made = sqlite3.connect(path, isolation_level=None, factory=FaultyConnection)
    made.execute("PRAGMA foreign_keys = ON")
    with closing(made):
        yield made


def adding(name: str, error: Exception | None = None) -> Job:
    def fn(tx: Tx) -> str:
        tx.conn.execute("INSERT INTO item (name) VALUES (?)", (name,))
        tx.emit("added", body=name)
        if error is not None:
            raise error
        return name

    return Job(fn)


def run(conn: sqlite3.Connection, *jobs: Job) -> Batch:
    batch = Batch(list(jobs), ManualClock(), 60.0)
    batch.run(conn)
    return batch


def names(conn: sqlite3.Connection) -> list[str]:
    rows = sqlite3.Connection.execute(conn, "SELECT name FROM item ORDER BY name")
    return [row[0] for row in rows]


def test_a_savepoint_rolls_one_job_back(conn: FaultyConnection) -> None:
    jobs = adding("a"), adding("b", LookupError()), adding("c")
    batch = run(conn, *jobs)
    assert names(conn) == ["a", "c"]
    assert [event.body for event in batch.events] == ["a", "c"]


def test_control_without_savepoints_the_failed_job_would_stay(
    conn: FaultyConnection,
) -> None:
    conn.savepoints = False
    run(conn, adding("a"), adding("b", LookupError()), adding("c"))
    assert names(conn) == ["a", "b", "c"]


def test_a_failed_commit_fails_every_job_and_leaves_nothing(
    conn: FaultyConnection,
) -> None:
    conn.fail_on = "COMMIT"
    jobs = [adding("a"), adding("b", LookupError()), adding("c")]
    batch = run(conn, *jobs)
    for job in jobs:
        with pytest.raises(Unavailable, match="disk I/O error"):
            job.outcome()
    assert batch.events == []
    assert (batch.fault, batch.committed) == ("disk I/O error", False)
    assert not conn.in_transaction
    conn.fail_on = None
    assert run(conn, adding("d")).committed
    assert names(conn) == ["d"]


def test_a_transaction_that_cannot_begin_fails_every_job(
    conn: FaultyConnection,
) -> None:
    conn.fail_on, conn.with_code = "BEGIN IMMEDIATE", sqlite3.SQLITE_BUSY
    jobs = [adding("a"), adding("b")]
    run(conn, *jobs)
    for job in jobs:
        with pytest.raises(Unavailable) as caught:
            job.outcome()
        assert "other program" in str((caught.value.context or {})["fix"])
    assert names(conn) == []


def test_a_savepoint_that_cannot_be_rolled_back_loses_the_batch_not_its_truth(
    conn: FaultyConnection,
) -> None:
    conn.fail_on = "ROLLBACK TO job"
    jobs = [adding("a"), adding("b", LookupError()), adding("c")]
    run(conn, *jobs)
    assert jobs[0].outcome() == "a"  # ran again, alone
    with pytest.raises(LookupError):
        jobs[1].outcome()
    assert not jobs[2].settled  # not reached: goes back into the queue
    assert names(conn) == ["a"]


def test_a_lost_transaction_makes_the_earlier_failures_run_again_too(
    conn: FaultyConnection,
) -> None:
    # The second "a" failed because of the first one, which was then rolled back.
    calls: list[str] = []

    def vanish(tx: Tx) -> None:
        calls.append("vanish")
        tx.conn.execute("ROLLBACK").close()

    jobs = [adding("a"), adding("a"), Job(vanish)]
    run(conn, *jobs)
    assert jobs[0].outcome() == "a"
    with pytest.raises(sqlite3.IntegrityError):
        jobs[1].outcome()
    with pytest.raises(sqlite3.Error):
        jobs[2].outcome()
    assert calls == ["vanish"]  # the culprit does not get a second go
    assert names(conn) == ["a"]


def test_no_job_is_begun_after_the_time_bound(conn: FaultyConnection) -> None:
    now = iter([0.0, 0.5, 1.0])
    jobs = [adding(name) for name in "abcd"]
    batch = Batch(jobs, ManualClock(), 1.0, lambda: next(now))
    batch.run(conn)
    assert [job.settled for job in jobs] == [True, True, False, False]
    assert names(conn) == ["a", "b"]


def test_the_first_job_is_always_begun(conn: FaultyConnection) -> None:
    jobs = [adding("a"), adding("b")]
    Batch(jobs, ManualClock(), 0.0).run(conn)
    assert [job.settled for job in jobs] == [True, False]


def test_a_fault_is_over_once_something_is_committed_after_it(
    conn: FaultyConnection,
) -> None:
    pages = conn.execute("PRAGMA page_count").fetchone()[0]
    conn.execute(f"PRAGMA max_page_count = {pages + 1}").fetchone()
    jobs = [adding("a"), adding("x" * 100_000)]
    batch = run(conn, *jobs)
    assert jobs[0].outcome() == "a"
    with pytest.raises(Unavailable, match="disk is full"):
        jobs[1].outcome()
    assert (batch.committed, batch.fault) == (True, None)
