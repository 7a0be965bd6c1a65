"""A robot connects, brings a tool, starts a workflow, and leaves."""

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from tests.support.brain import TestBrain, running_brain, settled
from tests.support.client import FakeClient

REVIEW = """\
inputs: {container: {}}
tasks:
  - {id: look, tool: docker_inspect, args: {container: "{{ inputs.container }}"}}
  - {id: words, tool: extract_keywords, args: {text: "{{ tasks.look.result }}"}}
  - {id: date, tool: now, args: {zone: UTC}}
  - {id: later, tool: docker_inspect, args: {container: other}, depends_on: [words]}
"""
FLOWS = {"review": REVIEW}


async def robot(brain: TestBrain, name: str = "ci", **given: object) -> FakeClient:
    return await brain.connect(
        name,
        token=f"robot:{name}",
        project="dev",
        is_human=False,
        type="external",
        tools=["docker_inspect"],
        **given,
    )


async def owner(brain: TestBrain) -> FakeClient:
    return await brain.connect("desk", project="dev", serve={"docker_inspect": "mine"})


@pytest.mark.requirement(
    "003-3.4-robot-brings-tools",
    "003-1-one-protocol",
    "003-3.1-robot-uses-the-brain",
    "003-3.3-robot-starts-workflow",
    "003-3.3-tool-request-to-robot",
    "003-3.3-robot-reads-result",
    "003-3.4-tool-field",
)
async def test_a_robot_s_tools_serve_the_process_it_started(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        page = await owner(brain)
        bot = await robot(brain)
        bot.serve({"docker_inspect": lambda args: f"{args['container']} is healthy"})
        process = await bot.start("review", container="app-v2.3.1")
        end = await bot.finished(process)
        assert end["status"] == "done"
        assert end["result"]["later"] == "other is healthy"
        assert bot.came("task-update", status="done")
        assert {request["tool_name"] for request in bot.requests} == {"docker_inspect"}
        assert page.requests == []


@pytest.mark.requirement("003-3.4-robot-tools-stay-its-own")
async def test_a_robot_s_tools_serve_nobody_else(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        page = await brain.connect("page", project="dev")
        bot, other = await robot(brain), await robot(brain, "cd")
        process = await page.start("review", container="x")
        await brain.until_task(process, "look", "blocked")
        theirs = await other.start("review", container="y")
        await other.request("docker_inspect")
        await settled()
        assert bot.requests == []
        assert brain.statuses(theirs)["look"] == "running"
        assert brain.statuses(process)["look"] == "blocked"


@pytest.mark.requirement(
    "003-3.3-robot-disconnect-closes-session",
    "003-3.3-brain-continues-autonomously",
    "003-3.4-only-while-connected",
)
async def test_when_the_robot_says_goodbye_the_brain_goes_on_alone(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        page = await owner(brain)
        bot = await robot(brain)
        process = await bot.start("review", container="x")
        await bot.answer(
            await bot.request("docker_inspect"), "text about the container"
        )
        await bot.disconnect()

        assert await brain.until_status(process, "failed") == "failed"
        statuses = brain.statuses(process)
        assert statuses["words"] == statuses["date"] == "done"
        # Nobody else will ever bring it, so it does not wait for ever.
        assert statuses["later"] == "failed"
        assert "client_gone" in brain.task(process, "later")["error"]
        end = await page.expect(
            "process-status", thinkProcessId=process, status="failed"
        )
        assert end["result"]["date"]["zone"] == "UTC"
        refused = await brain.dial()
        await refused.send(
            "handshake",
            client={},
            auth={"token": "robot:ci"},
            session={"resume": bot.session_id},
        )
        assert (await refused.expect("error"))["code"] == "not_found"


async def test_a_robot_s_parked_call_fails_with_client_gone(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    tools = "tools:\n  - {name: docker_inspect, location: client, effect: read}\n"
    async with running_brain(tmp_path, workflows=FLOWS, tools_yaml=tools) as brain:
        await brain.connect("page", project="dev")
        bot = await robot(brain)
        process = await bot.start("review", container="x")
        await bot.request("docker_inspect")
        await bot.disconnect()
        await brain.until_status(process, "failed")
        assert "client_gone" in brain.task(process, "look")["error"]
        assert brain.statuses(process)["date"] == "done"


async def test_a_robot_whose_network_breaks_has_a_quarter_of_an_hour(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    tools = "tools:\n  - {name: docker_inspect, location: client, effect: read}\n"
    async with running_brain(tmp_path, workflows=FLOWS, tools_yaml=tools) as brain:
        await brain.connect("page", project="dev")
        bot = await robot(brain)
        process = await bot.start("review", container="x")
        await bot.request("docker_inspect")
        await bot.drop()
        await trio.sleep(14 * 60)
        assert brain.status(process) == "blocked"
        back = await robot(brain, resume=bot.session_id)
        await back.request("docker_inspect")
        await back.drop()
        await trio.sleep(16 * 60)
        assert brain.status(process) == "failed"
        assert "client_gone" in brain.task(process, "look")["error"]


async def test_a_restart_does_not_let_a_lost_robot_s_calls_wait_for_ever(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    flow = {"one": "tasks:\n  - {id: a, tool: read, args: {}}\n"}
    async with running_brain(tmp_path, workflows=flow) as brain:
        await brain.connect("page", project="dev")
        bot = await brain.connect("ci", token="robot:ci", project="dev")
        process = await bot.start("one")
        await brain.until_status(process, "blocked")
        await brain.restart(crash=True)
        await trio.sleep(16 * 60)
        assert brain.status(process) == "failed"
