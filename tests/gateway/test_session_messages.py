"""Every message a client may send: its answer, `reply_to`, and its errors."""

import json
from pathlib import Path
from typing import Any

import pytest
from trio.testing import MockClock

from tests.support.brain import running_brain
from vance_sdk.wire.messages.tables import INBOUND
from vancetope.gateway.session.handlers import HANDLERS

FLOWS = {
    "flow": "tasks:\n  - {id: a, goal: Read it, tool: read, args: {path: x}}\n",
    "value": "tasks:\n  - {id: a, result: 42}\n",
    "needs": "inputs: {path: {}}\ntasks:\n  - {id: a, result: '{{ inputs.path }}'}\n",
    "broken": "tasks: 5\n",
}
#: Types whose answer stands in another file or which have none.
ELSEWHERE = {"handshake", "disconnect"}


def test_every_type_has_a_handler() -> None:
    handled = {kind.TYPE for kind in HANDLERS}
    assert handled == set(INBOUND) - ELSEWHERE


# ------------------------------------------------------------------------- processes


@pytest.mark.requirement("003-2.3-process-start")
async def test_process_start_is_acknowledged_before_anything_else_about_it(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        client = await brain.connect("laptop", serve={"read": "text"})
        for _ in range(10):
            process = await client.start("flow")
            await client.finished(process)
            about = [f for f in client.history if process in json.dumps(f)]
            assert about[0]["type"] == "process-status"
            assert "reply_to" in about[0]
            position = client.history.index(about[0])
            requests = [f for f in client.history if f["type"] == "tool-request"]
            assert client.history.index(requests[-1]) > position


async def test_an_idempotency_key_starts_one_process(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        client = await brain.connect()
        one = await client.start("flow", key="k")
        assert await client.start("flow", key="k") == one
        assert await client.start("flow", key="other") != one
        bot = await brain.connect(token="robot:ci", project="default")
        assert await bot.start("flow", key="k") != one
        assert len(brain.rows("SELECT id FROM process")) == 3


@pytest.mark.parametrize(
    ("fields", "code", "says"),
    [
        ({"workflow_id": "flwo"}, "not_found", "did you mean flow?"),
        ({"workflow_id": "needs"}, "bad_message", "path"),
        ({"workflow_id": "flow", "input": {"x": 1}}, "bad_message", "no input 'x'"),
        ({"workflow_id": "broken"}, "unavailable", "tasks"),
        ({"workflow_id": "flow", "recipe": "r"}, "unavailable", "Recipes"),
        ({}, "unavailable", "model"),
    ],
)
async def test_a_start_that_cannot_be_says_why(
    tmp_path: Path,
    fields: dict[str, Any],
    code: str,
    says: str,
    autojump_clock: MockClock,
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        client = await brain.connect()
        answer = await client.ask("process-start", goal="Do it", **fields)
        assert (answer["type"], answer["code"]) == ("error", code)
        assert says in answer["message"]
        if code == "unavailable":
            assert answer["context"]["fix"]
        if fields.get("workflow_id") == "flwo":
            assert answer["context"] == {"nearest": "flow"}
        assert brain.rows("SELECT id FROM process") == []


@pytest.mark.requirement(
    "003-2.3-process-pause", "003-2.3-process-continue", "003-2.3-process-stop"
)
async def test_pause_continue_and_stop_answer_with_the_status(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        client = await brain.connect()
        process = await client.start("flow")
        await brain.until_status(process, "blocked")
        for verb, status in (
            ("process-pause", "paused"),
            ("process-continue", "blocked"),
            ("process-stop", "stopped"),
        ):
            answer = await client.ask(verb, thinkProcessId=process)
            assert answer["type"] == "process-status"
            assert (answer["thinkProcessId"], answer["status"]) == (process, status)


@pytest.mark.parametrize(
    "verb",
    [
        "process-continue",
        "process-pause",
        "process-stop",
        "process-get",
        "task-list",
    ],
)
async def test_an_unknown_process_is_not_found(
    tmp_path: Path, verb: str, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path) as brain:
        client = await brain.connect()
        answer = await client.ask(verb, thinkProcessId="tp_none")
        assert (answer["type"], answer["code"]) == ("error", "not_found")


async def test_a_workflow_cannot_be_steered_yet(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        client = await brain.connect()
        process = await client.start("flow")
        answer = await client.ask("process-steer", thinkProcessId=process, message="x")
        assert answer["code"] == "unavailable"


@pytest.mark.requirement("003-2.1a-connection-profile")
async def test_process_list_and_process_get_show_rows(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        client = await brain.connect(profile="foot")
        blocked, done = await client.start("flow"), await client.start("value")
        await client.finished(done)
        await brain.until_status(blocked, "blocked")
        answer = await client.ask("process-list")
        rows = {row["id"]: row for row in answer["processes"]}
        assert rows[blocked]["connectionProfile"] == "foot"
        assert rows[blocked]["pending_tasks"] == 1
        assert rows[blocked]["cause"]["kind"] == "client_tool"
        assert rows[done]["status"] == "done"
        answer = await client.ask("process-list", project_id="other")
        assert answer["processes"] == []
        answer = await client.ask("process-get", thinkProcessId=done)
        assert answer["process"]["result"] == {"a": 42}


# ----------------------------------------------------------------------------- tasks


@pytest.mark.requirement("003-2.3-task-list")
async def test_task_list_shows_planned_tasks_too(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        client = await brain.connect()
        process = await client.start("flow")
        await brain.until_status(process, "blocked")
        answer = await client.ask("task-list", thinkProcessId=process)
        assert answer["type"] == "task-list"
        [row] = answer["tasks"]
        assert (row["key"], row["goal"], row["tool"]) == ("a", "Read it", "read")
        assert row["status"] == "blocked"
        assert row["blocked_reason"] == "Waiting for Client for Tool: read"


@pytest.mark.parametrize("verb", ["task-cancel", "task-rerun", "why"])
async def test_an_unknown_task_is_not_found(
    tmp_path: Path, verb: str, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path) as brain:
        client = await brain.connect()
        answer = await client.ask(verb, task_id="task_none")
        assert (answer["type"], answer["code"]) == ("error", "not_found")
        answer = await client.ask(
            "task-move", task_id="task_none", before_task_id="task_none"
        )
        assert answer["code"] == "not_found"


async def test_why_answers_with_text_and_chain(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        client = await brain.connect()
        process = await client.start("flow")
        await brain.until_status(process, "blocked")
        answer = await client.ask("why", task_id=brain.task(process, "a")["id"])
        assert answer["type"] == "why"
        assert answer["status"] == "blocked"
        assert [cause["kind"] for cause in answer["chain"]] == ["client_tool"]
        assert "No client has offered read yet" in answer["text"]
        assert answer["text"].startswith("a is blocked")


async def test_why_says_that_a_brain_for_a_run_leaves_a_process_alone(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        client = await brain.connect()
        process, done = await client.start("flow"), await client.start("value")
        await brain.until_status(process, "blocked")
        await brain.until_status(done, "done")
        task = brain.task(process, "a")["id"]
        before = await client.ask("why", task_id=task)
        brain.own_only = True
        await brain.restart()
        client = await brain.connect()
        answer = await client.ask("why", task_id=task)
        assert answer["chain"] == before["chain"]
        assert answer["text"] == (
            "This Brain was started for one run and does not resume this process;"
            f" `vancetope serve` goes on with it. {before['text']}"
        )
        # One that it serves, and one that nobody has to go on with.
        own = await client.start("flow")
        await brain.until_status(own, "blocked")
        for task in (brain.task(own, "a")["id"], brain.task(done, "a")["id"]):
            answer = await client.ask("why", task_id=task)
            assert answer["text"].startswith("a is ")


# ------------------------------------------------------------- what comes later, tools


@pytest.mark.requirement("003-2.3-not-built-yet")
@pytest.mark.parametrize(
    ("verb", "fields"),
    [
        ("memory-add", {"entity_type": "note", "title": "t", "content": "c"}),
        ("memory-add", {"title": "t", "content": "c"}),
        ("memory-search", {"query": "q"}),
        ("memory-link", {"source_id": "a", "target_id": "b"}),
        (
            "memory-link",
            {"source_id": "a", "target_id": "b", "relation_type": "cites"},
        ),
        ("chat", {"message": "hello"}),
    ],
)
async def test_what_comes_later_is_unavailable_with_a_fix_never_silence(
    tmp_path: Path, verb: str, fields: dict[str, Any], autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path) as brain:
        client = await brain.connect()
        answer = await client.ask(verb, **fields)
        assert (answer["type"], answer["code"]) == ("error", "unavailable")
        assert answer["context"]["fix"]


async def test_an_approval_is_unavailable_for_a_task_and_not_found_without(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        client = await brain.connect()
        process = await client.start("flow")
        task = brain.task(process, "a")["id"]
        answer = await client.ask("task-approve", task_id=task, approved=True)
        assert answer["code"] == "unavailable"
        answer = await client.ask("task-approve", task_id="task_none", approved=True)
        assert answer["code"] == "not_found"


@pytest.mark.requirement("003-2.3-tool-result")
async def test_a_tool_result_counts_from_its_owner_only_and_once(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        laptop = await brain.connect("laptop", tools=["read"])
        other = await brain.connect("other", tools=["read"])
        process = await laptop.start("flow")
        request_id = (await laptop.request())["request_id"]
        for client, request in ((other, request_id), (laptop, "call_none")):
            answer = await client.ask(
                "tool-result", request_id=request, result="forged"
            )
            assert (answer["type"], answer["code"]) == ("error", "not_found")

        await laptop.send("tool-accepted", request_id=request_id, boot_id="b1")
        await laptop.send("tool-progress", request_id=request_id, n=1)
        for result in ("right", "right", "different"):
            answer = await laptop.ask(
                "tool-result", request_id=request_id, result=result
            )
            assert answer["type"] == "tool-result-ack"
            assert answer["request_id"] == request_id
        assert (await laptop.finished(process))["result"] == {"a": "right"}
        [call] = brain.calls(process)
        assert call["accepted_at"] is not None


@pytest.mark.requirement("003-2.3-tool-result-error")
@pytest.mark.parametrize(
    ("error", "state", "status"),
    [
        ("plain text", "failed", "failed"),
        ({"code": "failed", "message": "m"}, "failed", "failed"),
        ({"code": "never-heard-of", "message": "m"}, "failed", "failed"),
        ({"code": "rejected", "message": "m"}, "rejected", "failed"),
        ({"code": "cancelled", "message": "m"}, "cancelled", "cancelled"),
        (
            {"code": "approval_required", "message": "m", "what": "w", "digest": "d"},
            "rejected",
            "failed",
        ),
    ],
)
async def test_each_error_of_a_tool_has_its_state(
    tmp_path: Path, error: Any, state: str, status: str, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        laptop = await brain.connect("laptop", tools=["read"])
        process = await laptop.start("flow")
        request_id = (await laptop.request())["request_id"]
        await laptop.ask("tool-result", request_id=request_id, error=error)
        assert (await laptop.finished(process))["status"] == "failed"
        [call] = brain.calls(process)
        assert call["state"] == state
        assert brain.statuses(process) == {"a": status}


async def test_an_expired_call_ran_nothing_and_is_sent_anew(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        laptop = await brain.connect("laptop", tools=["read"])
        process = await laptop.start("flow")
        request = await laptop.request()
        await laptop.fail(request, "expired", "it was asleep")
        again = await laptop.request()
        assert again["request_id"] == request["request_id"]
        await laptop.answer(again, "text")
        assert (await laptop.finished(process))["status"] == "done"


async def test_a_result_over_the_limit_is_cut_and_says_so(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        laptop = await brain.connect("laptop", serve={"read": "x" * 400_000})
        process = await laptop.start("flow")
        end = await laptop.finished(process)
        assert "truncated" in json.dumps(end)
        assert "400002" in json.dumps(end) or "400000" in json.dumps(end)
        assert laptop.closed is None
