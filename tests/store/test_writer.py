"""The writer's contract, on the real thread and on the inline runner alike."""

import sqlite3
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from tests.store.conftest import OpenStore
from vancetope.clock import ManualClock
from vancetope.errors import Unavailable
from vancetope.events import Bus, Event
from vancetope.store.connection import Runner
from vancetope.store.db import Store, Tx, open_store
from vancetope.store.writer import BATCH_JOBS, Writer

BIG = 100_000


def add(name: str, *, event: bool = False) -> Callable[[Tx], str]:
    def job(tx: Tx) -> str:
        tx.conn.execute("INSERT INTO item (name) VALUES (?)", (name,))
        if event:
            tx.emit("added", body=name)
        return name

    return job


def add_then_fail(name: str) -> Callable[[Tx], None]:
    def job(tx: Tx) -> None:
        add(name, event=True)(tx)
        raise LookupError(name)

    return job


def names(store: Store) -> list[str]:
    return store.read(
        lambda conn: [r[0] for r in conn.execute("SELECT name FROM item ORDER BY name")]
    )


async def on_writer(store: Store, fn: Callable[[sqlite3.Connection], Any]) -> Any:
    return await store._writer._worker.run(fn)


async def all_of(store: Store, jobs: Iterable[Callable[[Tx], Any]]) -> list[Any]:
    """Each job in a task of its own, all at once; values and errors in order."""
    outcomes: dict[int, Any] = {}

    async def one(index: int, job: Callable[[Tx], Any]) -> None:
        try:
            outcomes[index] = await store.write(job)
        except Exception as exc:  # noqa: BLE001 - the outcome under test
            outcomes[index] = exc

    async with trio.open_nursery() as nursery:
        for index, job in enumerate(jobs):
            nursery.start_soon(one, index, job)
    return [outcomes[index] for index in sorted(outcomes)]


# --------------------------------------------------------------------- one write


async def test_a_write_returns_its_value_and_the_row_is_read_at_once(
    opened: OpenStore,
) -> None:
    async with opened() as store:
        assert await store.write(add("a")) == "a"
        assert names(store) == ["a"]


async def test_a_write_that_raises_leaves_nothing_and_raises_to_its_caller(
    opened: OpenStore,
) -> None:
    async with opened() as store:
        with pytest.raises(LookupError):
            await store.write(add_then_fail("a"))
        assert names(store) == []
        assert store.read(lambda c: c.execute("SELECT * FROM event").fetchall()) == []


async def test_a_tx_knows_the_time_and_numbers_its_events(
    opened: OpenStore, clock: ManualClock
) -> None:
    def job(tx: Tx) -> tuple[int, int, int]:
        first = tx.emit("one", project_id="p", session_id="s", body={"b": 1, "a": 2})
        return tx.now_ms, first, tx.emit("two", process_id="tp_1", task_id="task_1")

    async with opened() as store:
        clock.advance(5)
        assert await store.write(job) == (clock.now_ms(), 1, 2)
        rows = store.read(lambda c: c.execute("SELECT * FROM event").fetchall())
    now = clock.now_ms()
    assert [tuple(row) for row in rows] == [
        (1, now, "one", "p", "s", None, None, '{"a":2,"b":1}'),
        (2, now, "two", None, None, "tp_1", "task_1", None),
    ]


@pytest.mark.parametrize(
    "end",
    [
        lambda conn: conn.commit(),
        lambda conn: conn.rollback(),
        lambda conn: conn.executescript("SELECT 1"),
        lambda conn: conn.__enter__(),
        lambda conn: conn.execute("ROLLBACK").fetchall(),
    ],
    ids=["commit", "rollback", "executescript", "with", "ROLLBACK"],
)
async def test_a_job_that_ends_the_shared_transaction_fails_and_the_others_hold(
    opened: OpenStore, end: Callable[[sqlite3.Connection], object]
) -> None:
    async with opened() as store:
        outcomes = await all_of(
            store, [add("a"), lambda tx: end(tx.conn), add("b"), add("c")]
        )
        assert isinstance(outcomes[1], sqlite3.Error)
        assert [outcomes[0], *outcomes[2:]] == ["a", "b", "c"]
        assert names(store) == ["a", "b", "c"]


async def test_a_job_that_says_commit_is_told_so(opened: OpenStore) -> None:
    async with opened() as store:
        with pytest.raises(sqlite3.OperationalError, match="no such savepoint"):
            await store.write(lambda tx: tx.conn.execute("COMMIT").fetchall())
        assert await store.write(add("a")) == "a"


async def test_a_cursor_is_refused_as_a_result(opened: OpenStore) -> None:
    async with opened() as store:
        with pytest.raises(TypeError, match="not a cursor"):
            await store.write(lambda tx: tx.conn.execute("SELECT 1"))


async def test_a_failed_job_with_an_open_returning_cursor_does_not_block_the_commit(
    opened: OpenStore,
) -> None:
    # Fails with "SQL statements in progress" without traceback.clear_frames.
    def job(tx: Tx) -> None:
        values = "INSERT INTO item (name) VALUES ('x'), ('y'), ('z') RETURNING name"
        cursor = tx.conn.execute(values)
        cursor.fetchone()
        raise LookupError

    async with opened() as store:
        outcomes = await all_of(store, [add("a"), job, add("b")])
        assert [outcomes[0], outcomes[2]] == ["a", "b"]
        assert names(store) == ["a", "b"]


async def test_an_error_caught_before_can_be_raised_by_a_job(opened: OpenStore) -> None:
    # With traceback.clear_frames this very coroutine would be closed.
    async with opened() as store:
        kept = "still here"
        with pytest.raises(LookupError) as caught:
            raise LookupError(kept)

        def job(_tx: Tx) -> None:
            raise caught.value

        with pytest.raises(LookupError, match="still here"):
            await store.write(job)
        assert kept == "still here"


# ---------------------------------------------------------------------- together


async def test_tasks_that_write_at_the_same_time_share_one_commit(
    opened: OpenStore,
) -> None:
    async with opened() as store:
        said: list[str] = []
        await on_writer(store, lambda conn: conn.set_trace_callback(said.append))
        await all_of(store, [add(f"{n:02}") for n in range(64)])
        assert said.count("COMMIT") == 1
        assert len(names(store)) == 64


async def test_a_failing_job_takes_no_neighbour_with_it(opened: OpenStore) -> None:
    async with opened() as store:
        jobs = [add("a"), add_then_fail("b"), add("c"), add("a"), add_then_fail("d")]
        outcomes = await all_of(store, jobs)
        # The order inside a tick is Trio's to choose, so either "a" may be first.
        assert min(map(repr, (outcomes[0], outcomes[3]))) == "'a'"
        assert sum(isinstance(o, sqlite3.IntegrityError) for o in outcomes) == 1
        assert [type(outcomes[1]), outcomes[2], type(outcomes[4])] == [
            LookupError,
            "c",
            LookupError,
        ]
        assert names(store) == ["a", "c"]


async def test_ten_thousand_queued_writes_are_done_in_bounded_transactions(
    opened: OpenStore,
) -> None:
    async with opened() as store:
        said: list[str] = []
        await on_writer(store, lambda conn: conn.set_trace_callback(said.append))
        outcomes = await all_of(store, [add(f"{n:05}") for n in range(10_000)])
        assert outcomes == names(store)
        savepoints = "".join(
            {"SAVEPOINT job": "s", "COMMIT": "|"}.get(line, "") for line in said
        ).split("|")
        assert max(map(len, savepoints)) <= BATCH_JOBS
        assert len(savepoints) < 2_000  # and yet in groups


async def test_jobs_past_the_time_bound_go_into_the_next_transaction(
    opened: OpenStore,
) -> None:
    async with opened() as store:
        store._writer._batch_seconds = 0.0
        said: list[str] = []
        await on_writer(store, lambda conn: conn.set_trace_callback(said.append))
        assert await all_of(store, [add(n) for n in "abc"]) == ["a", "b", "c"]
        assert said.count("COMMIT") == 3


async def test_writes_run_in_the_order_they_were_asked_for(opened: OpenStore) -> None:
    asked: list[str] = []
    ran: list[str] = []
    async with opened() as store:
        store._writer._batch_seconds = 0.0  # so that jobs are put back all the time

        async def writer(task: str, ticks: int) -> None:
            for _ in range(ticks):  # so that some come while a batch is running
                await trio.lowlevel.checkpoint()
            for n in range(3):
                name = f"{task}{n}"
                asked.append(name)
                await store.write(lambda _tx, name=name: ran.append(name))  # type: ignore[misc]

        async with trio.open_nursery() as nursery:
            for ticks, task in enumerate("abcdefghijklmnop"):
                nursery.start_soon(writer, task, ticks // 2)
    assert ran == asked
    assert len(ran) == 48


async def test_a_job_that_breaks_a_deferred_key_fails_alone(opened: OpenStore) -> None:
    def orphan(tx: Tx) -> None:
        tx.conn.execute("INSERT INTO item VALUES ('child', 'nobody')")

    async with opened() as store:
        outcomes = await all_of(store, [add("a"), orphan, add("b")])
        assert isinstance(outcomes[1], sqlite3.IntegrityError)
        assert names(store) == ["a", "b"]


# ------------------------------------------------------------------------- events


@attrs.define(eq=False)
class WatchingBus(Bus):
    """Notes each publication and which of the rows another connection can see."""

    path: Path = Path()
    seen: list[tuple[list[object], set[str]]] = attrs.field(factory=list)
    log: list[str] = attrs.field(factory=list)

    def publish(self, events: Iterable[Event]) -> None:
        bodies = [event.body for event in events]
        other = sqlite3.connect(self.path)
        rows = {row[0] for row in other.execute("SELECT name FROM item")}
        other.close()
        self.seen.append((list(bodies), rows))
        self.log.append("published")


async def test_events_are_published_after_the_commit_and_before_the_writers_go_on(
    path: Path, clock: ManualClock, runner: Runner, migrations: Path
) -> None:
    bus = WatchingBus(path=path)
    async with open_store(
        path, clock=clock, bus=bus, runner=runner, migrations=migrations
    ) as store:

        async def writer(name: str) -> None:
            await store.write(add(name, event=True))
            bus.log.append("went on")

        async with trio.open_nursery() as nursery:
            for name in "abc":
                nursery.start_soon(writer, name)
    assert bus.log == ["published", "went on", "went on", "went on"]
    [(bodies, rows)] = bus.seen
    assert set(bodies) == {"a", "b", "c"} == rows


async def test_events_come_in_commit_order_and_a_rolled_back_job_has_none(
    opened: OpenStore, bus: Bus
) -> None:
    with bus.subscribe("added") as subscription:
        async with opened() as store:
            jobs = [add(f"{n}", event=True) for n in range(8)]
            await all_of(store, [*jobs, add_then_fail("x")])
            rows = store.read(
                lambda c: c.execute(
                    "SELECT seq, body FROM event ORDER BY seq"
                ).fetchall()
            )
        told = [(event.seq, f'"{event.body}"') for event in subscription.take()]
    assert told == [tuple(row) for row in rows]
    assert [seq for seq, _ in told] == list(range(1, 9))


async def test_a_listener_that_fails_does_not_fail_a_committed_write(
    path: Path,
    clock: ManualClock,
    runner: Runner,
    migrations: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    class BrokenBus(Bus):
        def publish(self, events: Iterable[Event]) -> None:
            raise RuntimeError

    async with open_store(
        path, clock=clock, bus=BrokenBus(), runner=runner, migrations=migrations
    ) as store:
        assert await store.write(add("a")) == "a"
    assert "store.publish_failed" in caplog.text


# ------------------------------------------------------------------- cancellation


async def test_a_write_cancelled_before_it_began_is_not_applied(
    opened: OpenStore,
) -> None:
    async with opened() as store:
        with trio.CancelScope() as scope:
            scope.cancel()
            await store.write(add("a"))
        assert scope.cancelled_caught
        assert await store.write(add("b")) == "b"
        assert names(store) == ["b"]


@pytest.mark.parametrize("victim", range(4))
async def test_cancelling_any_queued_writer_neither_loses_nor_stops_the_others(
    opened: OpenStore, victim: int
) -> None:
    async with opened() as store:
        done: list[int] = []
        scopes = [trio.CancelScope() for _ in range(4)]

        async def writer(n: int) -> None:
            with scopes[n]:
                await store.write(add(str(n)))
                done.append(n)

        token = trio.lowlevel.current_trio_token()
        async with trio.open_nursery() as nursery:
            for n in range(4):
                nursery.start_soon(writer, n)
            token.run_sync_soon(scopes[victim].cancel)
        assert names(store) == sorted(map(str, done))
        assert set(done) >= {0, 1, 2, 3} - {victim}


async def test_a_write_cancelled_while_it_runs_is_waited_for_and_applied_once(
    opened: OpenStore,
) -> None:
    token = trio.lowlevel.current_trio_token()
    async with opened() as store:
        values: list[str] = []
        with trio.CancelScope() as scope:

            def job(tx: Tx) -> str:
                token.run_sync_soon(scope.cancel)
                return add("a")(tx)

            values.append(await store.write(job))
        assert values == ["a"]
        assert names(store) == ["a"]


async def test_a_cancellation_that_arrives_in_mid_write_does_not_tear_it(
    path: Path, clock: ManualClock, bus: Bus, migrations: Path
) -> None:
    # On a real thread (`long`): the job does not end before the cancellation came.
    # The control is test_connection's cancelled await: without the shield the caller
    # is told Cancelled and the row is there all the same.
    token = trio.lowlevel.current_trio_token()
    delivered = threading.Event()
    async with open_store(path, clock=clock, bus=bus, migrations=migrations) as store:
        follower: list[str] = []
        async with trio.open_nursery() as nursery:
            with trio.CancelScope() as scope:

                def job(tx: Tx) -> str:
                    token.run_sync_soon(scope.cancel)
                    token.run_sync_soon(delivered.set)
                    assert delivered.wait(5)
                    return add("a")(tx)

                async def follow() -> None:
                    follower.append(await store.write(add("b")))

                nursery.start_soon(follow)
                assert await store.write(job, long=True) == "a"
        assert follower == ["b"]
        assert names(store) == ["a", "b"]


async def test_the_loop_goes_on_while_another_program_holds_the_lock(
    path: Path, clock: ManualClock, bus: Bus, migrations: Path
) -> None:
    # Seen to fail by staging with the thread's busy_timeout: the loop stood still, so
    # the lock was never given back and the write ended as `Unavailable`.
    async with open_store(path, clock=clock, bus=bus, migrations=migrations) as store:
        await store.write(add("a"))
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(store.write, add("b"))
                await trio.testing.wait_all_tasks_blocked()
                assert names(store) == ["a"]
                other.execute("COMMIT")
        finally:
            other.close()
        assert names(store) == ["a", "b"]


# --------------------------------------------------------------------- a full disk


async def cap_pages(store: Store, more: int) -> None:
    def cap(conn: sqlite3.Connection) -> None:
        pages = conn.execute("PRAGMA page_count").fetchone()[0]
        conn.execute(f"PRAGMA max_page_count = {pages + more}").fetchone()

    await on_writer(store, cap)


async def test_on_a_full_disk_what_was_acknowledged_is_there_and_nothing_else(
    opened: OpenStore,
) -> None:
    # Without the look at `in_transaction` the jobs after the big one would be
    # committed one statement at a time, the failing ones' first halves included.
    def too_big(tx: Tx) -> None:
        add("half of a big one")(tx)
        add("x" * BIG)(tx)

    def add_then_fail_late(tx: Tx) -> None:
        add("rolled back")(tx)
        raise LookupError

    async with opened() as store:
        await cap_pages(store, 2)
        jobs = [add("a"), add("b"), too_big, add("c"), add_then_fail_late, add("d")]
        outcomes = await all_of(store, jobs)
        assert isinstance(outcomes[2], Unavailable)
        assert "disk is full" in str(outcomes[2])
        assert isinstance(outcomes[4], LookupError)
        acknowledged = [o for o in outcomes if isinstance(o, str)]
        assert acknowledged == ["a", "b", "c", "d"]
    async with opened() as store:
        assert names(store) == acknowledged


async def test_a_store_that_cannot_be_written_says_so_until_it_can(
    opened: OpenStore,
) -> None:
    async with opened() as store:
        faults = [store.write_fault]
        await cap_pages(store, 0)
        with pytest.raises(Unavailable) as caught:
            await store.write(add("x" * BIG))
        assert caught.value.context == {
            "fix": "Free some disk space; nothing has to be restarted."
        }
        faults.append(store.write_fault)
        assert names(store) == []  # reading goes on
        await cap_pages(store, 1_000)
        await store.write(add("a"))
        assert [*faults, store.write_fault] == [None, "database or disk is full", None]


async def test_a_batch_in_which_every_job_fills_the_disk_ends(
    opened: OpenStore,
) -> None:
    async with opened() as store:
        await cap_pages(store, 1)
        outcomes = await all_of(store, [add(f"{n}" * BIG) for n in range(9)])
        assert all(isinstance(outcome, Unavailable) for outcome in outcomes)
        assert names(store) == []


# ---------------------------------------------------------------------- the end


async def test_a_closed_store_refuses_every_use(opened: OpenStore) -> None:
    async with opened() as store:
        pass
    with pytest.raises(Unavailable, match="closed"):
        await store.write(add("a"))
    with pytest.raises(Unavailable, match="closed"):
        store.read(lambda conn: None)
    with pytest.raises(Unavailable, match="closed"):
        await store.query(lambda conn: None)


async def test_closing_waits_for_the_writes_that_were_accepted(
    opened: OpenStore,
) -> None:
    values: list[str] = []
    async with trio.open_nursery() as nursery:
        async with opened() as store:
            store._writer._batch_seconds = 0.0  # each in a transaction of its own

            asked: list[str] = []
            all_asked = trio.Event()

            async def writer(name: str) -> None:
                asked.append(name)
                if len(asked) == 3:
                    all_asked.set()
                values.append(await store.write(add(name)))

            for name in "abc":
                nursery.start_soon(writer, name)
            await all_asked.wait()
        assert store._writer.idle
    async with opened() as store:
        assert names(store) == sorted(values) == ["a", "b", "c"]


async def test_a_batch_that_breaks_tells_every_writer_that_nobody_knows(
    opened: OpenStore, caplog: pytest.LogCaptureFixture
) -> None:
    class BrokenClock:
        def now_ms(self) -> int:
            raise RuntimeError

    async with opened() as store:
        broken = Writer(store._writer._worker, BrokenClock(), Bus())
        store._writer = broken
        outcomes = await all_of(store, [add("a"), add("b")])
        assert all(isinstance(outcome, Unavailable) for outcome in outcomes)
        assert "store.batch_broke" in caplog.text
        broken._clock = ManualClock()
        assert await store.write(add("c")) == "c"  # the open transaction is gone
        assert names(store) == ["c"]
