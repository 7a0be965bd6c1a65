"""A bug or a lost hint is one task's misfortune, never the Brain's."""

from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.support.brain import running_brain, settled
from vancetope.processes.conclude import Concluder
from vancetope.processes.engines.workflow import WorkflowEngine
from vancetope.processes.flow import Flow

FLOWS = {
    "each": "tasks:\n"
    "  - {id: e, foreach: '{{ range(60) | list }}', tool: read, args: {path: x}}\n"
    "  - {id: s, foreach: '{{ range(60) | list }}', tool: now, args: {zone: UTC}}\n"
    "  - {id: n, result: '{{ tasks.e.result | length }}', depends_on: [s]}\n",
    "bad": "tasks:\n  - {id: bad, tool: now, args: {zone: UTC}}\n",
    "late": "tasks:\n  - {id: bad, tool: read, args: {}, start_within: 1m}\n",
    "good": "tasks:\n  - {id: good, tool: now, args: {zone: UTC}}\n",
    "read": "tasks:\n  - {id: a, tool: read, args: {path: x}}\n",
}


# Seen failing: a hint that was dropped was that of the client that came.
@pytest.mark.parametrize("limit", [1, 2, 7])
async def test_hints_that_are_lost_cost_nothing_but_a_look_at_the_table(
    tmp_path: Path,
    limit: int,
    monkeypatch: pytest.MonkeyPatch,
    autojump_clock: MockClock,
) -> None:
    monkeypatch.setattr("vancetope.events.PENDING_LIMIT", limit)
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        page = await brain.connect("page")
        process = await page.start("each")
        await brain.until_status(process, "blocked")
        waiting = await page.start("read", autonomous=True)
        await brain.until_status(waiting, "waiting")
        await settled()
        await brain.connect("laptop", serve={"read": "text"})
        assert await brain.until_status(process, "done") == "done"
        assert await brain.until_status(waiting, "done") == "done"


async def test_a_client_whose_arrival_was_not_heard_of_still_gets_its_calls(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        page = await brain.connect("page")
        process = await page.start("read")
        await brain.until_status(process, "blocked")
        bus = brain.brain.bus
        subscribers = list(bus._subscribers)
        bus._subscribers.clear()  # the hint falls on deaf ears
        laptop = await brain.connect("laptop", serve={"read": "text"})
        bus._subscribers.extend(subscribers)
        await settled()
        assert laptop.requests == []
        for subscription in subscribers:
            subscription.overflowed = True
            subscription._wake.set()
        assert await brain.until_status(process, "done") == "done"


@pytest.fixture
def broken_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ending the task `bad` raises what nobody foresaw."""
    whole = Flow.end

    def end(self: Flow, task: Any, *args: Any, **kwargs: Any) -> None:
        if task.key == "bad":
            raise RuntimeError("a bug")
        whole(self, task, *args, **kwargs)

    monkeypatch.setattr(Flow, "end", end)


@pytest.mark.usefixtures("broken_end")
async def test_a_result_that_cannot_be_booked_stops_no_other_process(
    tmp_path: Path, autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        client = await brain.connect()
        await client.start("bad")
        await settled()
        assert "call.report_broke" in caplog.text
        process = await client.start("good")
        assert (await client.finished(process))["status"] == "done"


@pytest.mark.usefixtures("broken_end")
async def test_an_expiry_that_breaks_stops_no_other_timer(
    tmp_path: Path, autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        client = await brain.connect()
        await client.start("late")
        await trio.sleep(65)
        assert "timers.broke" in caplog.text
        process = await client.start("good")
        assert (await client.finished(process))["status"] == "done"


async def test_an_engine_that_breaks_fails_its_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    whole = WorkflowEngine.step

    def step(self: WorkflowEngine, conn: Any, process: Any, task: Any) -> Any:
        if task.key == "bad":
            raise RuntimeError("a bug")
        return whole(self, conn, process, task)

    monkeypatch.setattr(WorkflowEngine, "step", step)
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        client = await brain.connect()
        process = await client.start("bad")
        assert (await client.finished(process))["status"] == "failed"
        assert "internal" in brain.task(process, "bad")["error"]
        assert "a bug" not in brain.task(process, "bad")["error"]
        process = await client.start("good")
        assert (await client.finished(process))["status"] == "done"


async def test_a_conclusion_that_breaks_ends_the_process_as_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    def conclude(self: WorkflowEngine, conn: Any, process: Any) -> Any:
        raise RuntimeError("a bug")

    monkeypatch.setattr(WorkflowEngine, "conclude", conclude)
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        client = await brain.connect()
        end = await client.finished(await client.start("good"))
        assert end["status"] == "failed"


async def test_a_concluder_that_breaks_leaves_the_scheduler_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    whole = Concluder.conclude
    broken: list[str] = []

    async def conclude(self: Concluder, process_id: str) -> None:
        if not broken:
            broken.append(process_id)
            raise RuntimeError("a bug")
        await whole(self, process_id)

    monkeypatch.setattr(Concluder, "conclude", conclude)
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        client = await brain.connect()
        lost = await client.start("good")
        await settled()
        assert broken == [lost]
        process = await client.start("good")
        assert (await client.finished(process))["status"] == "done"
        # The next start sees that it has nothing left to do.
        await brain.restart()
        assert await brain.until_status(lost, "done") == "done"
