"""The store against itself: group commit and point reads, as ratios of one run.

Rounds alternate between the variants, so that whatever else the machine does hits
both alike.  Printed is the median of the per-round ratios.  Every commit is durable
(`synchronous=FULL`), so the first ratio grows with what an fsync costs on the disk.

    python benchmarks/store.py [--rounds 7] [--writes 2000] [--tasks 64] [--dir DIR]
"""

import argparse
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import trio

from vancetope.clock import SystemClock
from vancetope.events import Bus
from vancetope.store.db import Store, Tx, open_store
from vancetope.store.writer import BATCH_JOBS


def emit(tx: Tx) -> int:
    return tx.emit("benchmark", project_id="p", body={"n": 1})


def last_event(conn: sqlite3.Connection) -> object:
    row = conn.execute("SELECT * FROM event ORDER BY seq DESC LIMIT 1").fetchone()
    return row["kind"]


async def writes(store: Store, batch_jobs: int, tasks: int, count: int) -> None:
    store._writer._batch_jobs = batch_jobs  # noqa: SLF001 - the knob under test

    async def task() -> None:
        for _ in range(count // tasks):
            await store.write(emit)

    async with trio.open_nursery() as nursery:
        for _ in range(tasks):
            nursery.start_soon(task)


async def point_reads(store: Store, count: int) -> None:
    for _ in range(count):
        store.read(last_event)
    await trio.lowlevel.checkpoint()


async def thread_reads(store: Store, count: int) -> None:
    for _ in range(count):
        await store.query(last_event)


async def seconds(run: Callable[[], Awaitable[None]]) -> float:
    start = time.perf_counter()
    await run()
    return time.perf_counter() - start


async def main(folder: Path, args: argparse.Namespace) -> None:
    grouped, read = [], []
    async with open_store(folder / "b.db", clock=SystemClock(), bus=Bus()) as store:
        each = partial(writes, store, tasks=args.tasks, count=args.writes)
        await seconds(partial(each, BATCH_JOBS))  # warm-up
        for _ in range(args.rounds):
            alone = await seconds(partial(each, 1))
            together = await seconds(partial(each, BATCH_JOBS))
            grouped.append(alone / together)
            slow = await seconds(partial(thread_reads, store, args.writes))
            fast = await seconds(partial(point_reads, store, args.writes))
            read.append(slow / fast)
    print(
        f"group commit, {args.tasks} tasks: {statistics.median(grouped):.1f} times"
        f" the writes of one commit each"
    )
    print(
        f"point reads in the loop: {statistics.median(read):.1f} times"
        f" the reads of a thread"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--writes", type=int, default=2_000)
    parser.add_argument("--tasks", type=int, default=64)
    parser.add_argument("--dir", help="where the database is made")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.dir) as made:
        trio.run(main, Path(made), given)
