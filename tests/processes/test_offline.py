"""What a task does whose client is away (seed 000 section 4)."""

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from tests.support.brain import TOOLS, running_brain, settled

BLOCKED = "Waiting for Client for Tool: read"


def flow(*tasks: str) -> dict[str, str]:
    return {"flow": "tasks:\n" + "".join(f"  - {{{task}}}\n" for task in tasks)}


READ = "id: a, tool: read, args: {path: x}"
SERVER = "id: s, tool: now, args: {zone: UTC}"
AFTER = "id: b, result: after, depends_on: [a]"


@pytest.mark.requirement(
    "000-4-client-absent-blocked", "000-4-strategy-block", "000-4-others-go-on"
)
async def test_a_client_tool_without_a_client_blocks_and_the_rest_goes_on(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=flow(READ, SERVER, AFTER)) as brain:
        client = await brain.connect("page")
        process = await client.start("flow")
        assert await brain.until_status(process, "blocked") == "blocked"

        assert brain.statuses(process) == {"a": "blocked", "s": "done", "b": "pending"}
        task = brain.task(process, "a")
        assert task["cause_kind"] == "client_tool"
        assert task["cause_what"] == BLOCKED
        update = await client.expect("task-update", status="blocked")
        assert update["blocked_reason"] == BLOCKED
        assert update["cause"]["kind"] == "client_tool"
        states = {call["key"]: call["state"] for call in brain.calls(process)}
        assert states == {"a": "parked", "s": "succeeded"}


@pytest.mark.requirement(
    "000-4-requeued-on-connect",
    "000-5-client-tools-are-merged",
    "000-4-client-executes",
    "003-2.2-offered-tools",
)
async def test_the_client_that_brings_the_tool_wakes_the_task(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=flow(READ, AFTER)) as brain:
        page = await brain.connect("page")
        process = await page.start("flow")
        await brain.until_status(process, "blocked")
        other = await brain.connect("other", tools=["write"])
        await settled()
        assert brain.status(process) == "blocked"
        assert other.requests == []

        laptop = await brain.connect("laptop", tools=["read"])
        request = await laptop.request("read")
        assert request["args"] == {"path": "x"}
        await laptop.answer(request, "text")
        end = await page.finished(process)

        assert end["status"] == "done"
        assert brain.task(process, "a")["side"] == "laptop"
        assert len(brain.calls(process)) == 1


@pytest.mark.requirement("000-4-strategy-queue", "000-7-night-client-tasks-wait")
async def test_an_autonomous_run_queues_and_waits_with_a_partial_result(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=flow(READ, SERVER, AFTER)) as brain:
        client = await brain.connect("page")
        process = await client.start("flow", autonomous=True)
        await brain.until_status(process, "waiting")
        await settled()

        assert brain.statuses(process) == {"a": "queued", "s": "done", "b": "pending"}
        answer = await client.ask("process-get", thinkProcessId=process)
        assert answer["process"]["status"] == "waiting"
        assert answer["process"]["result"]["s"]["zone"] == "UTC"
        assert answer["process"]["blocked_reason"] == BLOCKED


@pytest.mark.parametrize(
    ("autonomous", "strategy", "status", "process_status"),
    [(False, "queue", "queued", "waiting"), (True, "block", "blocked", "blocked")],
)
async def test_the_task_s_own_strategy_wins_over_the_mode(
    tmp_path: Path,
    autonomous: bool,
    strategy: str,
    status: str,
    process_status: str,
    autojump_clock: MockClock,
) -> None:
    task = f"{READ}, offline_strategy: {strategy}"
    async with running_brain(tmp_path, workflows=flow(task, SERVER)) as brain:
        client = await brain.connect("page")
        process = await client.start("flow", autonomous=autonomous)
        await brain.until_status(process, process_status)
        assert brain.statuses(process)["a"] == status


@pytest.mark.requirement("000-4-strategy-skip")
async def test_skip_skips_the_task_and_those_that_use_its_result(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    tasks = flow(
        f"{READ}, offline_strategy: skip",
        AFTER,
        "id: uses, result: '{{ tasks.a.result }}'",
        "id: below, result: x, depends_on: [uses]",
    )
    async with running_brain(tmp_path, workflows=tasks) as brain:
        client = await brain.connect("page")
        process = await client.start("flow")
        end = await client.finished(process)

        assert brain.statuses(process) == {
            "a": "skipped",
            "b": "done",
            "uses": "skipped",
            "below": "done",
        }
        assert end["status"] == "done"
        assert end["result"] == {"b": "after", "below": "x"}


@pytest.mark.requirement("000-4-strategy-fallback", "000-4-fallback-tool-config")
async def test_fallback_runs_the_other_tool_with_the_same_arguments(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    tools = TOOLS + (
        "  - {name: clock, location: client, offline_strategy: fallback,"
        " fallback_tool: now}\n"
    )
    tasks = flow("id: a, tool: clock, args: {zone: UTC}")
    async with running_brain(tmp_path, workflows=tasks, tools_yaml=tools) as brain:
        client = await brain.connect("page")
        end = await client.finished(await client.start("flow"))

        assert end["result"]["a"]["zone"] == "UTC"
        [call] = brain.rows("SELECT * FROM call")
        assert (call["tool"], call["side"]) == ("now", "server")
        assert "fallback" in call["reason"]


# Seen failing: the parked call kept the effect of the tool it was parked for.
async def test_a_parked_call_that_falls_back_takes_the_effect_of_the_tool_that_runs(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    tools = TOOLS + (
        "  - {name: look, location: client, effect: read,"
        " offline_strategy: fallback, fallback_tool: send}\n"
    )
    tasks = flow("id: a, tool: look, args: {to: x}")
    async with running_brain(tmp_path, workflows=tasks, tools_yaml=tools) as brain:
        page = await brain.connect("page")
        process = await page.start("flow")
        await brain.until_task(process, "a", "blocked")
        sender = await brain.connect("sender", tools=["send"])
        request = await sender.request("send")

        assert request["effect"] == "once"
        [call] = brain.calls(process)
        assert call["effect"] == "once"


@pytest.mark.requirement("000-3-location-types", "000-4-both-fallback-to-server")
async def test_a_both_tool_prefers_the_client_and_falls_back_to_the_server(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    tools = TOOLS + (
        "  - {name: now, location: prefer_client, type: built_in, effect: read}\n"
    )
    async with running_brain(
        tmp_path, workflows=flow(SERVER), tools_yaml=tools
    ) as brain:
        page = await brain.connect("page")
        first = await page.finished(await page.start("flow"))
        assert first["result"]["s"]["zone"] == "UTC"

        laptop = await brain.connect("laptop", serve={"now": "the client's"})
        second = await page.finished(await page.start("flow"))
        assert second["result"]["s"] == "the client's"
        assert len(laptop.requests) == 1
        reasons = [row["reason"] for row in brain.rows("SELECT * FROM call")]
        assert "fell back to the server" in reasons[0]
        assert "client `laptop` connected" in reasons[1]


async def test_start_within_fails_the_task_when_the_wait_is_over(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    tasks = flow(f"{READ}, start_within: 2h", AFTER)
    async with running_brain(tmp_path, workflows=tasks) as brain:
        client = await brain.connect("page")
        process = await client.start("flow")
        await brain.until_status(process, "blocked")
        await trio.sleep(2 * 3600 - 60)
        assert brain.status(process) == "blocked"
        end = await client.finished(process, within=180)

        assert end["status"] == "failed"
        assert brain.statuses(process) == {"a": "failed", "b": "skipped"}
        assert "start_within" in brain.task(process, "a")["error"]
        assert [call["state"] for call in brain.calls(process)] == ["expired"]


async def test_start_within_bounds_only_the_wait(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    tasks = flow(f"{READ}, start_within: 1m, timeout: 10m")
    async with running_brain(tmp_path, workflows=tasks) as brain:
        client = await brain.connect("page")
        process = await client.start("flow")
        await brain.until_status(process, "blocked")
        laptop = await brain.connect("laptop", tools=["read"])
        request = await laptop.request("read")
        await trio.sleep(300)
        await laptop.answer(request, "slow")
        assert (await client.finished(process))["status"] == "done"


async def test_a_silent_client_s_read_is_parked_with_the_reason(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    tasks = flow(f"{READ}, timeout: 30s")
    async with running_brain(tmp_path, workflows=tasks) as brain:
        laptop = await brain.connect("laptop", tools=["read"])
        process = await laptop.start("flow")
        first = await laptop.request("read")
        await trio.sleep(31)

        task = brain.task(process, "a")
        assert task["status"] == "blocked"
        assert "laptop did not answer within 30s" in task["cause_what"]
        [call] = brain.calls(process)
        assert call["state"] == "parked"
        # Asked again when a client brings the tool: the session's own comes first.
        desk = await brain.connect("desk", tools=["read"])
        again = await laptop.request("read")
        assert again["request_id"] == first["request_id"]
        assert desk.requests == []
        await laptop.answer(again, "text")
        assert (await laptop.finished(process))["status"] == "done"


async def test_a_silent_client_s_once_call_has_an_unknown_outcome(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    tasks = flow("id: a, tool: send, args: {}, timeout: 30s")
    async with running_brain(tmp_path, workflows=tasks) as brain:
        laptop = await brain.connect("laptop", tools=["send"])
        process = await laptop.start("flow")
        request = await laptop.request("send")
        await trio.sleep(31)
        assert brain.task(process, "a")["cause_kind"] == "outcome_unknown"
        desk = await brain.connect("desk", tools=["send"])
        await settled()
        assert desk.requests == []

        await laptop.answer(request, "it did happen")
        end = await laptop.finished(process)
        assert end["result"] == {"a": "it did happen"}


@pytest.mark.requirement("000-6-task-tools")
async def test_every_required_tool_must_be_routable_before_a_task_starts(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    tasks = flow(f"{READ}, tools: [write, send]")
    async with running_brain(tmp_path, workflows=tasks) as brain:
        laptop = await brain.connect("laptop", serve={"read": "text"})
        process = await laptop.start("flow")
        task = await brain.until_task(process, "a", "blocked")
        assert task["cause_what"] == "Waiting for Client for Tool: write"
        await brain.connect("second", tools=["write"])
        await settled()
        task = brain.task(process, "a")
        assert task["cause_what"] == "Waiting for Client for Tool: send"
        assert laptop.requests == []
        await brain.connect("third", tools=["send"])

        assert (await laptop.finished(process))["status"] == "done"


async def test_optional_tools_hold_nothing_up(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    tasks = flow(f"{READ}, optional_tools: [write]")
    async with running_brain(tmp_path, workflows=tasks) as brain:
        laptop = await brain.connect("laptop", serve={"read": "text"})
        assert (await laptop.finished(await laptop.start("flow")))["status"] == "done"


async def test_an_addressed_client_is_the_only_one_that_will_do(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    tasks = flow("id: a, tool: read@laptop, args: {path: x}")
    async with running_brain(tmp_path, workflows=tasks) as brain:
        desk = await brain.connect("desk", tools=["read"])
        process = await desk.start("flow")
        task = await brain.until_task(process, "a", "blocked")
        assert task["cause_what"] == "Waiting for Client laptop for Tool: read"
        laptop = await brain.connect("laptop", serve={"read": "mine"})
        assert (await desk.finished(process))["result"] == {"a": "mine"}
        assert desk.requests == []
        assert len(laptop.requests) == 1
