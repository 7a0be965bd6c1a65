"""The Brain dies in the middle of a run, and the next one finishes it."""

from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.support.brain import running_brain, settled

FLOWS = {
    "mixed": """\
inputs: {n: {}}
tasks:
  - id: here
    foreach: "{{ range(inputs.n) | list }}"
    tool: now
    args: {zone: UTC}
  - id: there
    foreach: "{{ range(inputs.n) | list }}"
    tool: read
    args: {path: "{{ item }}"}
  - {id: sum, result: "{{ tasks.there.result | list }}"}
""",
    "once": "tasks:\n  - {id: a, tool: send, args: {to: x}}\n",
    "read": "tasks:\n  - {id: a, tool: read, args: {path: x}}\n",
}


@pytest.mark.parametrize("crash", [True, False], ids=["crash", "clean"])
@pytest.mark.parametrize("ticks", [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89])
async def test_whenever_it_stops_the_next_one_finishes_and_nothing_counts_twice(
    tmp_path: Path, crash: bool, ticks: int, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        ran: list[Any] = []

        def read(args: dict[str, Any]) -> str:
            ran.append(args["path"])
            return f"<{args['path']}>"

        laptop = await brain.connect("laptop", serve={"read": read}, journal_id="j")
        process = await laptop.start("mixed", n=20)
        for _ in range(ticks):
            await trio.lowlevel.checkpoint()
        await brain.restart(crash=crash)
        assert await laptop.close_code() == 1006
        back = await brain.connect(
            "laptop",
            serve={"read": read},
            journal_id="j",
            resume=laptop.session_id,
        )
        end = await back.finished(process)
        assert end["status"] == "done"
        assert end["result"]["sum"] == [f"<{n}>" for n in range(20)]
        calls = brain.calls(process)
        assert {call["state"] for call in calls} == {"succeeded"}
        assert len(calls) == 40
        # Read again where nobody could know, but never as another call.
        assert set(ran) == set(range(20))


async def test_a_running_process_goes_on_without_anybody_connected(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    flow = {
        "slow": "tasks:\n"
        + "".join(
            f"  - {{id: t{n}, tool: now, args: {{zone: UTC}}"
            + (f", depends_on: [t{n - 1}]" if n else "")
            + "}\n"
            for n in range(10)
        )
    }
    async with running_brain(tmp_path, workflows=flow) as brain:
        page = await brain.connect("page")
        process = await page.start("slow")
        await brain.restart(crash=True)
        assert await brain.until_status(process, "done") == "done"
        assert len(brain.calls(process)) == 10


async def test_what_was_parked_is_parked_with_the_same_cause_and_call(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        page = await brain.connect("page")
        process = await page.start("read")
        before = await brain.until_task(process, "a", "blocked")
        await settled()
        [call] = brain.calls(process)
        await brain.restart(crash=True)
        await trio.sleep(5)
        assert brain.task(process, "a") == before
        assert brain.calls(process) == [call]
        laptop = await brain.connect("laptop", tools=["read"])
        assert (await laptop.request("read"))["request_id"] == call["id"]


async def test_a_once_call_of_a_journalled_client_survives_the_brain(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        laptop = await brain.connect("laptop", tools=["send"], journal_id="j")
        process = await laptop.start("once")
        request = await laptop.request("send")
        await brain.restart(crash=True)
        assert brain.task(process, "a")["cause_kind"] == "client_tool"
        back = await brain.connect(
            "laptop", tools=["send"], journal_id="j", resume=laptop.session_id
        )
        again = await back.request("send")
        assert again["request_id"] == request["request_id"]
        await back.answer(again, "from the journal")
        end = await back.finished(process)
        assert end["result"] == {"a": "from the journal"}


async def test_a_once_call_without_a_journal_is_unknown_after_a_crash(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        laptop = await brain.connect("laptop", tools=["send"])
        process = await laptop.start("once")
        await laptop.request("send")
        await brain.restart(crash=True)
        assert brain.task(process, "a")["cause_kind"] == "outcome_unknown"
        await trio.sleep(3600)
        assert brain.status(process) == "blocked"


async def test_a_client_that_stays_away_after_a_crash_loses_its_calls_in_time(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        laptop = await brain.connect("laptop", tools=["read"])
        process = await laptop.start("read")
        await laptop.request("read")
        await brain.restart(crash=True)
        [call] = brain.calls(process)
        assert call["state"] == "dispatched"
        await trio.sleep(15 * 60 + 1)
        [call] = brain.calls(process)
        assert call["state"] == "parked"


async def test_a_brain_for_one_run_leaves_other_processes_alone(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        page = await brain.connect("page")
        old = await page.start("read")
        await brain.until_status(old, "blocked")
        brain.own_only = True
        await brain.restart()
        laptop = await brain.connect("laptop", serve={"read": "text"})
        new = await laptop.start("read")
        assert (await laptop.finished(new))["status"] == "done"
        await settled()
        assert brain.status(old) == "blocked"
        assert not brain.brain.scheduler.own_at_work()
