"""`why`: from the task to what really holds it, in words and as a chain."""

from pathlib import Path
from typing import Any

import trio
from trio.testing import MockClock

from tests.support.brain import TOOLS, TestBrain, running_brain
from tests.support.client import FakeClient

FLOWS = {
    "chain": "tasks:\n"
    "  - {id: a, tool: read, args: {path: x}}\n"
    "  - {id: b, result: b, depends_on: [a]}\n"
    "  - {id: c, result: c, depends_on: [b]}\n",
    "each": "tasks:\n"
    "  - {id: e, foreach: [1, 2, 3], tool: read, args: {path: '{{ item }}'}}\n"
    "  - {id: after, result: x, depends_on: [e]}\n",
    "jira": "tasks:\n  - {id: a, tool: jira_create_issue, args: {}}\n",
    "twice": "tasks:\n"
    "  - {id: a, tool: now, args: {zone: UTC}}\n"
    "  - {id: b, tool: read, args: {path: x}}\n"
    "  - {id: c, result: x, depends_on: [a, b]}\n",
}


async def why(
    brain: TestBrain, client: FakeClient, process: str, key: str
) -> tuple[list[str], str, dict[str, Any]]:
    """The kinds of the chain, the text, and the whole answer."""
    answer = await client.ask("why", task_id=brain.task(process, key)["id"])
    return [cause["kind"] for cause in answer["chain"]], answer["text"], answer


async def test_a_chain_of_dependencies_ends_at_the_client_that_is_away(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        laptop = await brain.connect("laptop", profile="foot", tools=["read"])
        await laptop.disconnect()
        page = await brain.connect("page")
        process = await page.start("chain")
        await brain.until_status(process, "blocked")
        kinds, text, answer = await why(brain, page, process, "c")
        assert kinds == ["dependency", "dependency", "client_tool"]
        assert answer["status"] == "pending"
        assert text.startswith("c is pending: Waiting for Task: b. b is pending")
        assert "a is blocked: Waiting for Client for Tool: read" in text
        assert "Last offered by client laptop" in text
        assert "Goes on when a client offers read" in text
        root = answer["chain"][-1]
        assert root["key"] == "read"
        assert root["since"] == brain.task(process, "a")["cause_since"]


async def test_a_parent_is_explained_by_the_item_that_is_held(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        page = await brain.connect("page")
        process = await page.start("each")
        await brain.until_status(process, "blocked")
        kinds, text, _ = await why(brain, page, process, "after")
        assert kinds == ["dependency", "children", "client_tool"]
        assert "e[0] is blocked" in text


async def test_what_runs_names_the_side_and_what_ended_the_reason(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        laptop = await brain.connect("laptop", tools=["read"])
        process = await laptop.start("chain")
        request = await laptop.request("read")
        kinds, text, answer = await why(brain, laptop, process, "a")
        assert (kinds, text) == ([], "a is running on laptop")
        kinds, text, _ = await why(brain, laptop, process, "b")
        assert kinds == ["dependency"]
        assert text.endswith("a is running on laptop")
        await laptop.answer(request, ValueError("no such file"))
        await laptop.finished(process)
        assert (await why(brain, laptop, process, "a"))[
            1
        ] == "a is failed: no such file"
        _, text, answer = await why(brain, laptop, process, "c")
        assert text == "c is skipped: Task b skipped"
        assert answer["status"] == "skipped"


async def test_a_paused_task_waits_for_process_continue(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        laptop = await brain.connect("laptop", tools=["read"])
        process = await laptop.start("chain")
        request = await laptop.request("read")
        await laptop.ask("process-pause", thinkProcessId=process)
        await laptop.answer(request, "text")
        await brain.until_task(process, "a", "done")
        kinds, text, _ = await why(brain, laptop, process, "b")
        assert kinds == ["paused"]
        assert "Goes on when process-continue" in text


async def test_a_server_that_is_down_is_named_and_asked_again_at_the_next_start(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    down = "  - {name: jira_create_issue, location: server, mcp_server: jira}\n"
    async with running_brain(
        tmp_path, workflows=FLOWS, tools_yaml=TOOLS + down
    ) as brain:
        page = await brain.connect("page")
        process = await page.start("jira", autonomous=True)
        assert await brain.until_status(process, "blocked") == "blocked"
        kinds, text, _ = await why(brain, page, process, "a")
        assert kinds == ["server_tool"]
        assert "Waiting for Server jira for Tool: jira_create_issue" in text
        since = brain.task(process, "a")["cause_since"]
        await trio.sleep(60)
        await brain.restart()
        await brain.until_task(process, "a", "blocked")
        assert brain.task(process, "a")["cause_since"] > since
        assert len(brain.calls(process)) == 1


async def test_the_cause_moves_on_to_the_dependency_that_is_left(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        page = await brain.connect("page")
        process = await page.start("twice")
        await brain.until_status(process, "blocked")
        _, _, answer = await why(brain, page, process, "c")
        assert [cause["key"] for cause in answer["chain"]] == ["b", "read"]
