"""The first frame of a connection, and which session it leads to."""

import json
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.support.brain import NamedVerifier, running_brain, settled
from tests.support.client import FakeClient
from tests.support.clock import TrioClock
from vancetope.crypto import SigningKey
from vancetope.gateway.auth import TokenVerifier
from vancetope.model.principal import PrincipalKind

FLOW = {"flow": "tasks:\n  - {id: a, tool: read, args: {path: x}}\n"}
HELLO = {
    "type": "handshake",
    "client": {"type": "cli", "name": "Test", "tools": []},
    "auth": {"token": "owner"},
}


async def refusal(client: FakeClient) -> tuple[dict[str, Any], int]:
    """The error frame and the close code."""
    error = await client.expect("error")
    return error, await client.close_code()


@pytest.mark.requirement(
    "003-2.1-connection-establishment",
    "003-2.2-handshake",
    "003-2.2-active-processes",
    "003-2.2-server-tools",
)
async def test_a_handshake_is_answered_with_the_fields_of_the_seed(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOW) as brain:
        page = await brain.connect("page")
        process = await page.start("flow")
        await brain.until_status(process, "blocked")
        client = await brain.connect("second")
        opened = client.opened

        assert opened["type"] == "session_created"
        assert opened["reply_to"] == "hello"
        assert opened["session_id"].startswith("sess_")
        assert opened["project"] == {"id": "default", "name": "default"}
        assert opened["active_think_processes"] == [
            {"id": process, "title": "flow", "status": "blocked", "pending_tasks": 1}
        ]
        assert "now" in opened["server_tools"]
        assert "read" not in opened["server_tools"]
        assert opened["epoch"] == 1
        assert opened["limits"]["window"] == 16


async def test_a_connection_without_a_handshake_is_closed_4408_in_time(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path) as brain:
        client = await brain.dial()
        started = trio.current_time()
        error, code = await refusal(client)
        assert (error["code"], code) == ("bad_message", 4408)
        assert trio.current_time() - started == pytest.approx(10, abs=0.1)


@pytest.mark.requirement("003-2.1-handshake-first")
@pytest.mark.parametrize(
    "frame",
    [
        "no json",
        "[]",
        json.dumps({"type": "process-list"}),
        json.dumps({"type": "nothing"}),
        json.dumps({**HELLO, "auth": {"token": 5}}),
        json.dumps({**HELLO, "client": {"tools": [{"name": 1}]}}),
    ],
)
async def test_a_first_frame_that_is_no_handshake_closes_4400(
    tmp_path: Path, frame: str, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path) as brain:
        client = await brain.dial()
        await client.end.send(frame)
        error, code = await refusal(client)
        assert error["code"] in ("bad_message", "unknown_type")
        assert code == 4400


@pytest.mark.requirement("003-2-frame-size")
async def test_a_first_frame_over_64_kib_closes_1009(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path) as brain:
        client = await brain.dial()
        await client.end.send(json.dumps({**HELLO, "pad": "x" * 65_536}))
        assert await client.close_code() == 1009


@pytest.mark.requirement("003-5-jwt-for-humans", "003-2.2-token-verified")
async def test_a_bad_or_expired_token_closes_4401(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    clock = TrioClock()
    key = SigningKey(b"k" * 32)
    good = key.mint(clock, ttl_ms=60_000)
    internal = key.mint(clock, kind=PrincipalKind.INTERNAL)
    foreign = SigningKey(b"o" * 32).mint(clock)
    verifier = TokenVerifier(key, clock)
    async with running_brain(tmp_path, verifier=verifier) as brain:
        await brain.connect(token=good)
        await brain.connect(token=internal)
        await trio.sleep(61)
        for token in ("", "nonsense", foreign, good):
            client = await brain.dial()
            await client.send("handshake", **{**HELLO, "auth": {"token": token}})
            error, code = await refusal(client)
            assert (error["code"], code) == ("unauthorized", 4401)
            assert token not in error["message"] or not token


@pytest.mark.requirement(
    "003-2.1a-profile-mismatch", "003-2.1a-session-bound-to-profile", "003-2.2-resume"
)
async def test_a_resume_under_another_profile_is_a_409_and_closes_4411(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path) as brain:
        client = await brain.connect(profile="foot")
        await client.disconnect()
        other = await brain.dial(profile="web")
        frame = {**HELLO, "session": {"resume": client.session_id}}
        await other.send("handshake", **frame)
        error, code = await refusal(other)
        assert (error["code"], code) == ("409", 4411)
        assert error["message"] == "Profile Mismatch"
        assert error["context"] == {"session_profile": "foot", "profile": "web"}

        back = await brain.connect(profile="foot", resume=client.session_id)
        assert back.opened["type"] == "session_resumed"
        assert back.opened["epoch"] == 2


async def test_a_session_of_another_or_of_nobody_does_not_exist(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path) as brain:
        owner = await brain.connect(profile="foot")
        for token, session in (("owner", "sess_none"), ("robot:ci", owner.session_id)):
            client = await brain.dial(profile="web")
            frame = {**HELLO, "auth": {"token": token}, "session": {"resume": session}}
            await client.send("handshake", **frame)
            error, code = await refusal(client)
            # Ownership comes before the profile: the foreign one is no "409".
            assert (error["code"], code) == ("not_found", 4410)


@pytest.mark.requirement("003-2.1a-auto-resume-by-profile", "003-2.2-session-optional")
async def test_a_bootstrap_takes_the_newest_unbound_session_of_the_profile(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path) as brain:
        clients = {
            name: await brain.connect(name, profile=profile)
            for name, profile in (("a", "foot"), ("b", "foot"), ("w", "web"))
        }
        for name in ("b", "a", "w"):
            await trio.sleep(1)
            await clients[name].disconnect()
        newest = await brain.connect(profile="foot")
        assert newest.opened["type"] == "session_resumed"
        assert newest.session_id == clients["a"].session_id
        following = await brain.connect(profile="foot")
        assert following.session_id == clients["b"].session_id
        third = await brain.connect(profile="foot")
        assert third.opened["type"] == "session_created"


async def test_a_human_s_session_can_be_resumed_for_30_days(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path) as brain:
        client = await brain.connect()
        await client.disconnect()
        await trio.sleep(29 * 24 * 3600)
        client = await brain.connect(resume=client.session_id)
        await client.disconnect()
        await trio.sleep(31 * 24 * 3600)
        late = await brain.connect()
        assert late.opened["type"] == "session_created"
        other = await brain.dial()
        await other.send(
            "handshake", **{**HELLO, "session": {"resume": client.session_id}}
        )
        error, code = await refusal(other)
        assert (error["code"], code) == ("not_found", 4410)


@pytest.mark.requirement("003-2.2-session-project")
async def test_an_owner_s_new_project_is_made_and_a_bad_name_is_refused(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path) as brain:
        client = await brain.connect(project="papers")
        assert client.opened["project"] == {"id": "papers", "name": "papers"}
        again = await brain.connect(project="papers")
        assert again.session_id != client.session_id
        bad = await brain.dial()
        await bad.send("handshake", **{**HELLO, "session": {"project_id": "a/b"}})
        error, code = await refusal(bad)
        assert (error["code"], code) == ("bad_message", 4400)
        assert "$.project_id" in error["message"]


@pytest.mark.requirement("003-3.2-robot-handshake")
async def test_a_robot_gets_a_known_project_only(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path) as brain:
        bot = await brain.dial()
        frame = {**HELLO, "auth": {"token": "robot:ci"}}
        await bot.send("handshake", **frame, session={"project_id": "none"})
        error, code = await refusal(bot)
        assert (error["code"], code) == ("not_found", 4410)
        await brain.connect(project="known")
        client = await brain.connect(token="robot:ci", project="known")
        assert client.opened["project"]["id"] == "known"


async def test_a_robot_sees_its_own_processes_only(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOW) as brain:
        owner = await brain.connect(project="known")
        process = await owner.start("flow")
        await brain.until_status(process, "blocked")
        bot = await brain.connect(token="robot:ci", project="known")
        assert bot.opened["active_think_processes"] == []
        answer = await bot.ask("process-get", thinkProcessId=process)
        assert answer["code"] == "not_found"
        answer = await bot.ask("task-list", thinkProcessId=process)
        assert answer["code"] == "not_found"
        await owner.ask("process-stop", thinkProcessId=process)
        await settled()
        assert bot.came("process-status") == []


async def test_a_handshake_that_comes_again_is_an_error_and_nothing_else(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path) as brain:
        client = await brain.connect()
        answer = await client.ask(
            "handshake", **{k: HELLO[k] for k in ("client", "auth")}
        )
        assert answer["code"] == "bad_message"
        assert (await client.ask("process-list"))["type"] == "process-list"


async def test_a_disk_that_is_full_at_the_handshake_is_our_fault_not_the_client_s(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    autojump_clock: MockClock,
) -> None:
    async with running_brain(tmp_path, verifier=NamedVerifier()) as brain:
        brain.store._writer._closed = True
        client = await brain.dial()
        await client.send("handshake", **HELLO)
        error, code = await refusal(client)
        assert (error["code"], code) == ("unavailable", 1011)
        assert error["context"]["fix"]
        brain.store._writer._closed = False
