"""A full disk in the middle of a run: nothing is lost, nothing runs twice."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from tests.support.brain import TestBrain, running_brain

EACH = """\
inputs: {n: {}, tool: {default: now}}
tasks:
  - id: e
    foreach: "{{ range(inputs.n) | list }}"
    tool: now
    args: {zone: UTC}
  - {id: sum, result: "{{ tasks.e.result | length }}"}
"""
FLOWS = {
    "each": EACH,
    "read": "tasks:\n  - {id: a, tool: read, args: {path: x}}\n",
    "value": "tasks:\n  - {id: a, result: 42}\n",
}


async def limit_pages(brain: TestBrain, extra: int | None) -> None:
    """Let the database grow by so many pages only; None lifts the limit."""

    def limit(conn: sqlite3.Connection) -> None:
        [now] = conn.execute("PRAGMA page_count").fetchone()
        most = 1_000_000_000 if extra is None else now + extra
        conn.execute(f"PRAGMA max_page_count = {most:d}")

    await brain.store._writer._worker.run(limit)


@asynccontextmanager
async def full_disk(brain: TestBrain, extra: int = 0) -> AsyncIterator[None]:
    """For the time of the block the disk is full."""
    await limit_pages(brain, extra)
    yield
    await limit_pages(brain, None)


@pytest.mark.parametrize("extra", [0, 1, 2, 5, 10, 20, 40])
async def test_a_disk_that_fills_up_midway_holds_the_run_up_and_no_more(
    tmp_path: Path, extra: int, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        client = await brain.connect()
        process = await client.start("each", n=300)
        async with full_disk(brain, extra):
            with trio.move_on_after(30):
                await brain.until_status(process, "done", within=60)
        end = await client.finished(process, within=120)
        assert end["status"] == "done"
        assert end["result"] == {"sum": 300}
        calls = brain.calls(process)
        assert len(calls) == 300
        assert {call["state"] for call in calls} == {"succeeded"}


async def test_a_start_on_a_full_disk_is_refused_and_works_again_later(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        client = await brain.connect()
        async with full_disk(brain):
            answers = [
                await client.ask("process-start", goal="x" * 5000, workflow_id="value")
                for _ in range(3)
            ]
            refused = [one for one in answers if one["type"] == "error"]
            assert refused
            assert {one["code"] for one in refused} == {"unavailable"}
            assert all("disk" in one["context"]["fix"] for one in refused)
        process = await client.start("value")
        assert (await client.finished(process))["result"] == {"a": 42}


async def test_a_result_that_cannot_be_written_is_not_acknowledged(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        client = await brain.connect("laptop", tools=["read"])
        process = await client.start("read")
        request = await client.request("read")
        big = "x" * 200_000
        async with full_disk(brain):
            answer = await client.ask(
                "tool-result", request_id=request["request_id"], result=big
            )
            assert (answer["type"], answer["code"]) == ("error", "unavailable")
            assert brain.calls(process)[0]["state"] == "dispatched"
        answer = await client.ask(
            "tool-result", request_id=request["request_id"], result=big
        )
        assert answer["type"] == "tool-result-ack"
        assert (await client.finished(process))["status"] == "done"


async def test_a_process_is_concluded_once_the_disk_has_room(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    flow = {
        "big": "inputs: {t: {}}\ntasks:\n  - {id: a, tool: read, args: {path: x}}\n"
        "result: '{{ inputs.t }}'\n"
    }
    async with running_brain(tmp_path, workflows=flow) as brain:
        client = await brain.connect("laptop", tools=["read"])
        process = await client.start("big", t="x" * 100_000)
        request = await client.request("read")
        async with full_disk(brain):
            await client.ask(
                "tool-result", request_id=request["request_id"], result=None
            )
            await trio.sleep(10)
            assert brain.status(process) == "running"
        assert (await client.finished(process))["status"] == "done"
