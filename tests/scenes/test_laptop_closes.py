"""The laptop is closed in the middle of a call, and opened again, or not."""

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from tests.support.brain import running_brain, settled
from vancetope.processes.scheduler.timers import GRACE_S

FLOWS = {
    "read": "tasks:\n  - {id: a, tool: read, args: {path: x}}\n"
    "  - {id: s, tool: now, args: {zone: UTC}}\n",
    "slow": "tasks:\n  - {id: a, tool: read, args: {path: x}, timeout: 1h}\n",
    "slow-send": "tasks:\n  - {id: a, tool: send, args: {to: x}, timeout: 1h}\n",
    "send": "tasks:\n  - {id: a, tool: send, args: {to: x}}\n"
    "  - {id: after, result: '{{ tasks.a.result }}'}\n",
}
QUARTER_HOUR = 15 * 60.0


@pytest.mark.requirement(
    "000-5-running-tasks-become-blocked", "003-2.1-connection-breaks"
)
async def test_a_read_is_blocked_at_once_and_the_same_request_comes_again(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        page = await brain.connect("page")
        laptop = await brain.connect("laptop", profile="foot", tools=["read"])
        process = await page.start("read")
        request = await laptop.request("read")
        await laptop.drop()

        assert brain.task(process, "a")["status"] == "blocked"
        assert brain.task(process, "a")["cause_kind"] == "client_tool"
        assert brain.status(process) == "blocked"
        [call] = brain.calls(process, "a")
        assert call["state"] == "dispatched"  # until it is known better (D7)

        await trio.sleep(60)
        back = await brain.connect(
            "laptop", profile="foot", tools=["read"], resume=laptop.session_id
        )
        again = await back.request("read")
        assert again["request_id"] == request["request_id"]
        assert again["args_digest"] == request["args_digest"]
        await back.answer(again, "text")
        end = await page.finished(process)
        assert end["status"] == "done"
        assert [c["state"] for c in brain.calls(process, "a")] == ["succeeded"]
        await settled()
        assert len(back.requests) == 1


async def test_a_result_that_the_laptop_kept_counts_without_a_second_run(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        laptop = await brain.connect("laptop", tools=["send"], journal_id="j")
        process = await laptop.start("send")
        request = await laptop.request("send")
        await laptop.send(
            "tool-accepted", request_id=request["request_id"], boot_id="b"
        )
        await settled()
        await laptop.drop()
        back = await brain.connect(
            "laptop", tools=["send"], resume=laptop.session_id, journal_id="j"
        )
        await back.answer(request, "sent")
        assert (await back.finished(process))["result"] == {"after": "sent"}


@pytest.mark.requirement("003-2.3-once-is-unknown")
async def test_a_once_call_without_a_journal_is_unknown_and_why_says_so(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        page = await brain.connect("page")
        laptop = await brain.connect("laptop", profile="foot", tools=["send"])
        process = await page.start("send")
        request = await laptop.request("send")
        await laptop.drop()

        task = brain.task(process, "a")
        assert (task["status"], task["cause_kind"]) == ("blocked", "outcome_unknown")
        answer = await page.ask("why", task_id=brain.task(process, "after")["id"])
        assert [cause["kind"] for cause in answer["chain"]] == [
            "dependency",
            "outcome_unknown",
        ]
        assert "client laptop dropped during the call" in answer["text"]

        # Nobody runs it a second time: not the laptop, not another client.
        back = await brain.connect(
            "laptop", profile="foot", tools=["send"], resume=laptop.session_id
        )
        desk = await brain.connect("desk", tools=["send"])
        await settled()
        assert back.requests == desk.requests == []

        # But the laptop knows, and says so late.
        await back.answer(request, "it was sent")
        assert (await page.finished(process))["result"] == {"after": "it was sent"}


async def test_a_late_expired_proves_that_it_never_ran(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        laptop = await brain.connect("laptop", tools=["send"])
        process = await laptop.start("send")
        request = await laptop.request("send")
        await laptop.drop()
        back = await brain.connect("laptop", tools=["send"], resume=laptop.session_id)
        await back.fail(request, "expired", "woke up too late")
        again = await back.request("send")
        assert again["request_id"] == request["request_id"]
        await back.answer(again, "sent")
        assert (await back.finished(process))["status"] == "done"


# Seen failing: any client with the tool got it (and later: nobody, as "ready").
async def test_a_journalled_once_call_waits_for_its_own_client_alone(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        page = await brain.connect("page")
        laptop = await brain.connect(
            "laptop", profile="foot", tools=["send"], journal_id="j"
        )
        process = await page.start("send")
        request = await laptop.request("send")
        await laptop.drop()
        task = brain.task(process, "a")
        assert task["cause_what"] == "Waiting for Client laptop for Tool: send"
        desk = await brain.connect("desk", tools=["send"], journal_id="other")
        await settled()
        assert desk.requests == []
        assert brain.task(process, "a")["cause_kind"] == "client_tool"

        # Renamed and without a resume: its journal is what counts.
        back = await brain.connect(
            "notebook", profile="foot", project="p", tools=["send"], journal_id="j"
        )
        again = await back.request("send")
        assert again["request_id"] == request["request_id"]
        await back.answer(again, "sent once")
        assert (await page.finished(process))["status"] == "done"


async def test_a_client_that_lost_its_journal_cannot_tell(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        laptop = await brain.connect("laptop", tools=["send"], journal_id="j1")
        process = await laptop.start("send")
        await laptop.request("send")
        await laptop.drop()
        assert brain.task(process, "a")["cause_kind"] == "client_tool"
        back = await brain.connect(
            "laptop", tools=["send"], resume=laptop.session_id, journal_id="j2"
        )
        await settled()
        assert back.requests == []
        assert brain.task(process, "a")["cause_kind"] == "outcome_unknown"
        assert "lost its journal" in brain.task(process, "a")["cause_what"]


# Seen failing: its task went on waiting for a new connect, with the desk there.
async def test_after_a_moment_another_client_takes_the_read_over(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        page = await brain.connect("page")
        desk = await brain.connect("desk", profile="foot", tools=["read"])
        laptop = await brain.connect("laptop", profile="foot", tools=["read"])
        process = await page.start("slow")
        first = await laptop.request("read")
        await laptop.drop()
        await trio.sleep(GRACE_S - 1)
        assert desk.requests == []
        request = await desk.request("read")
        assert request["request_id"] == first["request_id"]
        await desk.answer(request, "text")
        assert (await page.finished(process))["status"] == "done"


async def test_a_laptop_that_is_back_in_a_moment_keeps_its_call(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        page = await brain.connect("page")
        desk = await brain.connect("desk", profile="foot", tools=["read"])
        laptop = await brain.connect("laptop", profile="foot", tools=["read"])
        process = await page.start("slow")
        await laptop.request("read")
        await laptop.drop()
        await trio.sleep(GRACE_S - 1)
        back = await brain.connect(
            "laptop", profile="foot", tools=["read"], resume=laptop.session_id
        )
        await back.answer(await back.request("read"), "text")
        await trio.sleep(2 * GRACE_S)
        assert desk.requests == []
        assert (await page.finished(process))["status"] == "done"


async def test_after_a_quarter_of_an_hour_a_journalled_once_call_is_unknown(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        page = await brain.connect("page")
        laptop = await brain.connect(
            "laptop", profile="foot", tools=["send"], journal_id="j"
        )
        process = await page.start("slow-send")
        await laptop.request("send")
        await laptop.drop()
        await trio.sleep(QUARTER_HOUR + 1)
        assert brain.task(process, "a")["cause_kind"] == "outcome_unknown"
        assert "did not come back" in brain.task(process, "a")["cause_what"]


async def test_a_parked_read_moves_to_whoever_comes_first(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        page = await brain.connect("page")
        laptop = await brain.connect("laptop", profile="foot", tools=["read"])
        process = await page.start("read")
        first = await laptop.request("read")
        await laptop.drop()
        desk = await brain.connect("desk", tools=["read"])
        second = await desk.request("read")
        assert second["request_id"] == first["request_id"]
        back = await brain.connect(
            "laptop", profile="foot", tools=["read"], resume=laptop.session_id
        )
        # It is the desk's now: the laptop's word does not count any more (D4).
        refused = await back.ask(
            "tool-result", request_id=first["request_id"], result="old"
        )
        assert refused["code"] == "not_found"
        await desk.answer(second, "new")
        assert (await page.finished(process))["result"]["a"] == "new"
