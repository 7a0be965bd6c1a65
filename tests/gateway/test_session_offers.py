"""Sessions and offers over the wire, and frames that are wrong."""

from pathlib import Path

import pytest
from trio.testing import MockClock

from tests.support.brain import running_brain, settled
from vancetope.gateway.session.handlers import HANDLERS

FLOWS = {
    "flow": "tasks:\n  - {id: a, goal: Read it, tool: read, args: {path: x}}\n",
    "value": "tasks:\n  - {id: a, result: 42}\n",
}


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


@pytest.mark.requirement("003-2.2-capability-notifications")
async def test_a_client_that_shows_no_notifications_gets_none(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    # The test above is the control: the same offer, with the capability.
    async with running_brain(tmp_path) as brain:
        deaf = await brain.connect(
            "laptop", tools=["now"], capabilities={"notifications": False}
        )
        await deaf.ask("tool-list")
        assert [frame["type"] for frame in deaf.history].count("notification") == 0


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
