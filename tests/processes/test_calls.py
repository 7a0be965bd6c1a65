"""Calls, one transaction at a time: what comes too late changes nothing."""

import itertools
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from tests.support.brain import running_brain, settled
from vancetope.model.status import CALL_MOVES, CallState, TaskStatus
from vancetope.processes import calls as call_rows
from vancetope.processes.calls.results import ATTEMPTS
from vancetope.processes.scheduler.steps import Begun, Steps
from vancetope.store.queries import calls, tasks

FLOWS = {
    "read": "tasks:\n  - {id: a, tool: read, args: {path: x}, start_within: 1h}\n",
    "send": "tasks:\n  - {id: a, tool: send, args: {to: x}}\n",
}


async def test_a_call_that_was_sent_again_since_is_not_put_back(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        laptop = await brain.connect("laptop", tools=["read"])
        process = await laptop.start("read")
        request = await laptop.request("read")
        first = brain.store.read(lambda conn: calls.get(conn, request["request_id"]))
        assert first is not None
        back = await brain.connect("laptop", tools=["read"], resume=laptop.session_id)
        await back.request("read")
        before = brain.calls(process)
        assert before[0]["attempt"] == 2
        await brain.store.write(lambda tx: call_rows.not_sent(tx, first))
        assert brain.calls(process) == before
        assert brain.task(process, "a")["status"] == "running"


async def test_a_window_that_ends_as_the_client_comes_back_takes_nothing_away(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        laptop = await brain.connect("laptop", tools=["send"])
        process = await laptop.start("send")
        await laptop.request("send")
        before = brain.calls(process)
        await brain.store.write(
            lambda tx: call_rows.window_ended(tx, laptop.session_id)
        )
        assert brain.calls(process) == before
        assert brain.task(process, "a")["status"] == "running"


async def test_an_expiry_that_comes_too_late_or_too_early_changes_nothing(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        page = await brain.connect("page")
        process = await page.start("read")
        await brain.until_task(process, "a", "blocked")
        task_id = brain.task(process, "a")["id"]
        await brain.store.write(lambda tx: call_rows.expire(tx, task_id))
        assert brain.task(process, "a")["status"] == "blocked"
        laptop = await brain.connect("laptop", tools=["read"])
        request = await laptop.request("read")
        await trio.sleep(300)
        await brain.store.write(lambda tx: call_rows.expire(tx, task_id))
        assert brain.task(process, "a")["status"] == "running"
        await laptop.answer(request, "text")
        await brain.until_status(process, "done")
        await brain.store.write(lambda tx: call_rows.expire(tx, task_id))
        assert brain.task(process, "a")["status"] == "done"


async def test_a_deadline_after_the_result_changes_nothing(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        laptop = await brain.connect("laptop", serve={"send": "sent"})
        process = await laptop.start("send")
        await brain.until_status(process, "done")
        [call] = brain.calls(process)
        await brain.store.write(lambda tx: call_rows.overdue(tx, call["id"], "10m"))
        assert brain.calls(process) == [call]


# A cancel may be committed in one breath with the dispatch it cancels.
@pytest.mark.parametrize("vtp", [True, False])
async def test_a_call_that_is_cancelled_before_it_leaves_is_not_sent(
    tmp_path: Path,
    vtp: bool,
    monkeypatch: pytest.MonkeyPatch,
    autojump_clock: MockClock,
) -> None:
    whole = Steps.send
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        laptop = await brain.connect("laptop", tools=["read"], vtp=vtp)
        page = await brain.connect("page")

        async def send(self: Steps, begun: Begun) -> None:
            await page.ask("process-stop", thinkProcessId=begun.call.process_id)
            await whole(self, begun)

        monkeypatch.setattr(Steps, "send", send)
        process = await page.start("read")
        await brain.until_status(process, "stopped")
        await settled()
        assert laptop.requests == []
        assert [call["state"] for call in brain.calls(process)] == ["cancelled"]
        [client] = brain.brain.hub.clients.all()[:1]
        assert client.in_flight == set()
        assert len(laptop.came("tool-cancel")) == vtp


async def test_a_client_that_may_not_serve_a_task_does_not_wake_it(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        page = await brain.connect("page", project="dev")
        process = await page.start("read")
        before = await brain.until_task(process, "a", "blocked")
        await trio.sleep(5)
        await brain.connect("ci", token="robot:ci", project="dev", tools=["read"])
        await settled()
        assert brain.task(process, "a") == before


async def test_every_state_that_a_call_goes_through_follows_the_table(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        seen: list[str] = []

        def look() -> None:
            for row in brain.rows("SELECT state FROM call"):
                if seen[-1:] != [row["state"]]:
                    seen.append(row["state"])

        page = await brain.connect("page")
        process = await page.start("send")
        await brain.until_task(process, "a", "blocked")
        look()
        laptop = await brain.connect("laptop", tools=["send"])
        request = await laptop.request("send")
        look()
        await laptop.send(
            "tool-accepted", request_id=request["request_id"], boot_id="b"
        )
        await settled()
        look()
        await laptop.drop()
        look()
        back = await brain.connect("laptop", resume=laptop.session_id)
        await back.answer(request, "sent")
        await brain.until_status(process, "done")
        look()
        assert seen == ["parked", "dispatched", "accepted", "unknown", "succeeded"]
        for old, new in itertools.pairwise(seen):
            assert CallState(new) in CALL_MOVES[CallState(old)]


async def test_a_task_that_was_changed_meanwhile_is_not_begun(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        page = await brain.connect("page")
        process = await page.start("read")
        await brain.until_task(process, "a", "blocked")
        task_id = brain.task(process, "a")["id"]
        stale = brain.store.read(lambda conn: tasks.get(conn, task_id))
        assert stale is not None
        assert stale.status is TaskStatus.BLOCKED
        await page.ask("task-cancel", task_id=task_id)
        assert await brain.brain.scheduler.steps.run(stale) is None
        assert brain.task(process, "a")["status"] == "cancelled"
        assert [call["state"] for call in brain.calls(process)] == ["cancelled"]


async def test_a_client_that_always_gives_a_call_back_fails_it_in_the_end(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    # Without a bound the two would hand the call to each other for ever.
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        laptop = await brain.connect("laptop", tools=["read"])
        process = await laptop.start("read")
        for _ in range(ATTEMPTS):
            request = await laptop.request("read")
            await laptop.send(
                "tool-result",
                request_id=request["request_id"],
                error={"code": "expired", "message": "too late"},
            )
        final = await laptop.finished(process)
        assert final["status"] == "failed"
        [call] = brain.calls(process)
        assert (call["attempt"], call["state"]) == (ATTEMPTS, "failed")
