"""Every message a client may send: its answer, `reply_to`, and its errors."""

import json
from pathlib import Path
from typing import Any

import pytest
from trio.testing import MockClock

from tests.support.brain import running_brain, settled
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


# ------------------------------------------------------------- what comes later, tools


@pytest.mark.requirement("003-2.3-not-built-yet")
@pytest.mark.parametrize(
    ("verb", "fields"),
    [
        ("memory-add", {"entity_type": "note", "title": "t", "content": "c"}),
        ("memory-search", {"query": "q"}),
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
            answer = await client.ask("tool-result", request_id=request, result="forged")
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


# ------------------------------------------------------------------- sessions, offers


@pytest.mark.requirement("003-2.1a-session-list-profile")
async def test_session_list_shows_the_profile_of_each(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path) as brain:
        foot = await brain.connect("a", profile="foot")
        await foot.disconnect()
        web = await brain.connect("b", profile="web", project="papers")
        answer = await web.ask("session-list")
        rows = {row["session_id"]: row for row in answer["sessions"]}
        assert rows[foot.session_id]["profile"] == "foot"
        assert rows[foot.session_id]["status"] == "resumable"
        assert rows[web.session_id]["status"] == "connected"
        answer = await web.ask("session-list", project_id="papers")
        assert [r["session_id"] for r in answer["sessions"]] == [web.session_id]


async def test_session_bootstrap_moves_the_connection(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        client = await brain.connect("laptop", serve={"read": "text"})
        first = client.session_id
        answer = await client.ask("session-bootstrap", project_id="papers")
        assert answer["type"] == "session-bootstrap"
        assert (answer["session_id"] != first, answer["resumed"]) == (True, False)
        process = await client.start("flow")
        assert (await client.finished(process))["status"] == "done"
        [row] = brain.rows("SELECT project_id FROM process")
        assert row["project_id"] == "papers"
        back = await client.ask("session-bootstrap", sessionId=first)
        assert (back["session_id"], back["resumed"]) == (first, True)
        same = await client.ask("session-bootstrap", sessionId=first)
        assert same["resumed"] is True
        missing = await client.ask("session-bootstrap", sessionId="sess_none")
        assert missing["code"] == "not_found"
        foot = await brain.connect("other", profile="foot")
        mismatch = await client.ask("session-bootstrap", sessionId=foot.session_id)
        assert mismatch["code"] == "409"


async def test_inbox_list_shows_what_waits_for_a_person(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    flows = {"once": "tasks:\n  - {id: a, tool: send, args: {}}\n"}
    async with running_brain(tmp_path, workflows=flows) as brain:
        laptop = await brain.connect("laptop", tools=["send"])
        process = await laptop.start("once")
        await laptop.request()
        await laptop.drop()
        page = await brain.connect("page")
        [item] = (await page.ask("inbox-list"))["items"]
        assert item["thinkProcessId"] == process
        assert item["cause"]["kind"] == "outcome_unknown"
        assert (await page.ask("inbox-list", project_id="other"))["items"] == []


@pytest.mark.requirement(
    "000-5-client-connected-replaces", "000-5-client-connected-reports-tools"
)
async def test_client_connected_replaces_the_offer(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        client = await brain.connect("laptop", tools=["write"])
        process = await client.start("flow")
        await brain.until_status(process, "blocked")
        answer = await client.ask(
            "client_connected",
            session_id=client.session_id,
            client_type="desktop",
            available_tools=[{"name": "read", "type": "native"}],
        )
        assert answer["type"] == "ack"
        await client.answer(await client.request("read"), "text")
        await client.finished(process)
        rows = {row["name"]: row for row in (await client.ask("tool-list"))["tools"]}
        assert rows["read"]["clients"] == ["laptop"]
        assert rows["write"]["clients"] == []
        other = await client.ask(
            "client_connected", session_id="sess_none", available_tools=[]
        )
        assert other["code"] == "not_found"


@pytest.mark.requirement("000-5-server-names-are-the-servers", "003-2.3-notification")
async def test_a_server_tool_s_name_is_refused_with_a_warning(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path) as brain:
        client = await brain.connect("laptop", tools=["now", "read"])
        warning = await client.expect("notification")
        assert warning["level"] == "warning"
        assert "now" in warning["message"]
        rows = {row["name"]: row for row in (await client.ask("tool-list"))["tools"]}
        assert rows["now"]["clients"] == []
        assert rows["read"]["clients"] == ["laptop"]


async def test_projects_are_listed_and_made(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path) as brain:
        client = await brain.connect()
        made = await client.ask("project-create", project_id="papers", name="Papers")
        assert made["project"] == {"id": "papers", "name": "Papers"}
        listed = await client.ask("project-list")
        assert {one["id"] for one in listed["projects"]} == {"default", "papers"}


# ------------------------------------------------------------------------ bad frames


@pytest.mark.requirement("003-2.3-error", "003-2.3-unknown-type")
@pytest.mark.parametrize(
    ("text", "code", "reply_to"),
    [
        ("no json", "bad_message", None),
        ("[1]", "bad_message", None),
        ('{"type": "process-get", "thinkProcessId": NaN}', "bad_message", None),
        ('{"id": "x", "type": "process-get"}', "bad_message", "x"),
        ('{"id": "x", "type": "who-knows"}', "unknown_type", "x"),
        ("[" * 10_000 + "]" * 10_000, "bad_message", None),
    ],
)
async def test_a_bad_frame_is_an_error_and_the_connection_stays(
    tmp_path: Path,
    text: str,
    code: str,
    reply_to: str | None,
    autojump_clock: MockClock,
) -> None:
    async with running_brain(tmp_path) as brain:
        client = await brain.connect()
        await client.end.send(text)
        error = await client.expect("error")
        assert (error["code"], error.get("reply_to")) == (code, reply_to)
        assert (await client.ask("process-list"))["type"] == "process-list"


async def test_a_bug_in_a_handler_is_one_internal_error_without_its_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path) as brain:
        client = await brain.connect()

        async def broken(*_: object) -> None:
            raise RuntimeError("a secret")

        [kind] = [kind for kind in HANDLERS if kind.TYPE == "inbox-list"]
        monkeypatch.setitem(HANDLERS, kind, broken)
        answer = await client.ask("inbox-list")
        assert answer["code"] == "internal"
        assert "secret" not in answer["message"]
        await settled()
        assert client.closed is None


@pytest.mark.requirement("003-2.3-disconnect")
async def test_disconnect_closes_1000_and_the_process_goes_on(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        client = await brain.connect()
        process = await client.start("value")
        await client.disconnect()
        await brain.until_status(process, "done")
