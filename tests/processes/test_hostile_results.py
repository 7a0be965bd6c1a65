"""Results nobody can use as they are: too deep, too long, again and again."""

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from tests.support.brain import running_brain
from vancetope.model.json import Json, is_deeper
from vancetope.processes.calls.absence import DROPS

FLOWS = {
    "read": "tasks:\n  - {id: a, tool: read, args: {path: x}}\n",
    "pass": (
        "tasks:\n  - {id: a, tool: read, args: {path: x}}\n"
        '  - {id: b, tool: write, args: {what: "{{ tasks.a.result }}"}}\n'
    ),
}


def nested(levels: int) -> Json:
    value: Json = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [0, 1, 5])
def test_depth_counts_lists_and_objects(levels: int) -> None:
    assert is_deeper(nested(levels), levels - 1) is (levels > 0)
    assert not is_deeper(nested(levels), levels)
    assert is_deeper({"a": nested(levels)}, levels)


@pytest.mark.parametrize("levels", [40, 61, 62])
async def test_a_deep_result_does_not_make_its_process_unreadable(
    tmp_path: Path, levels: int, autojump_clock: MockClock
) -> None:
    # Seen to fail at 61: the terminal process-status never came.
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        laptop = await brain.connect("laptop", serve={"read": lambda _: nested(levels)})
        process = await laptop.start("read")
        final = await laptop.finished(process)
        assert final["status"] == "done"
        got = await laptop.ask("process-get", thinkProcessId=process)
        rows = await laptop.ask("task-list", thinkProcessId=process)
        assert (got["type"], rows["type"]) == ("process-get", "task-list")
        shown = final["result"]
        assert (shown == {"a": nested(levels)}) is (levels == 40)


async def test_arguments_too_deep_for_a_request_fail_the_task(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        laptop = await brain.connect(
            "laptop", serve={"read": lambda _: nested(61), "write": "ok"}
        )
        process = await laptop.start("pass")
        assert (await laptop.finished(process))["status"] == "failed"
        assert "do not fit a request" in brain.task(process, "b")["error"]


async def test_a_result_over_the_frame_limit_fails_its_call_and_is_not_asked_again(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        page = await brain.connect("page")
        laptop = await brain.connect("laptop", tools=["read"])
        process = await page.start("read")
        request = await laptop.request("read")
        await laptop.send(
            "tool-result", request_id=request["request_id"], result="x" * 1_100_000
        )
        final = await page.finished(process)
        assert final["status"] == "failed"
        assert "over the limit" in brain.task(process, "a")["error"]
        back = await brain.connect("laptop", tools=["read"], resume=laptop.session_id)
        await trio.sleep(1)
        assert back.requests == []


async def test_a_client_that_drops_during_a_call_again_and_again_fails_it(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        page = await brain.connect("page")
        process = await page.start("read")
        for _ in range(DROPS):
            laptop = await brain.connect("laptop", tools=["read"])
            await laptop.request("read")
            await laptop.drop()
        final = await page.finished(process)
        assert final["status"] == "failed"
        assert f"dropped {DROPS} times" in brain.task(process, "a")["error"]


async def test_a_rerun_takes_the_old_result_back(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        laptop = await brain.connect("laptop", serve={"read": "first"})
        process = await laptop.start("read")
        await laptop.finished(process)
        await laptop.disconnect()
        page = await brain.connect("page")
        await page.ask("task-rerun", task_id=brain.task(process, "a")["id"])
        got = await page.ask("process-get", thinkProcessId=process)
        assert got["process"]["status"] in {"running", "blocked"}
        assert got["process"].get("result") is None


async def test_one_key_does_not_start_two_workflows(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        client = await brain.connect()
        first = await client.start("read", key="k")
        assert await client.start("read", key="k") == first
        other = await client.ask(
            "process-start", goal="", workflow_id="pass", idempotency_key="k"
        )
        assert other["code"] == "conflict"
