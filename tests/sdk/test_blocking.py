"""The client for scripts and notebooks (seed 003, sections 6 and 7)."""

import signal
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sdk.brain_thread import BrainThread, brain_thread
from tests.sdk.fake_brain import TOKEN
from vance_sdk import VanceClient
from vance_sdk.errors import (
    BadAddress,
    BrainRefused,
    HandshakeRefused,
    NotConnected,
    ProcessFailed,
    Timeout,
    VanceError,
)
from vance_sdk.wire.messages import (
    Json,
    MemoryAdd,
    ProcessGetQuery,
    ProcessStart,
    ToolAccepted,
)


@pytest.fixture
def running() -> Iterator[BrainThread]:
    with brain_thread() as running:
        yield running


@pytest.fixture
def client(running: BrainThread) -> Iterator[VanceClient]:
    with VanceClient(url=running.brain.url, api_key=TOKEN) as client:
        yield client


def own_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "vance-sdk"]


@pytest.mark.requirement("003-7-python-script", "003-6-python-sdk")
def test_the_scientists_script_of_the_seed_runs(
    running: BrainThread, tmp_path: Path
) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7\xff\xfe")
    (tmp_path / "b.md").write_text("Über Flash Attention")
    client = VanceClient(
        url=running.brain.url + "/api/ws",
        api_key=TOKEN,
        client_type="external",
        client_name="Paper Import Script",
    )

    client.connect(project_id="proj_literature_review")
    for path in sorted(tmp_path.glob("*")):
        # This Brain has no memory yet, and says so.
        with pytest.raises(BrainRefused, match="unavailable"):
            client.memory_add(
                type="document",
                subtype="paper",
                title=path.stem,
                file=path,
                tags=["imported", "unread", "2026"],
            )
    process_id = client.start_engine(
        goal="Analyze the newly imported papers", workflow_id="wf_echo"
    )
    result = client.wait(process_id, timeout=10)
    client.disconnect()

    assert process_id.startswith("tp_")
    assert result == client_input(running)
    [handshake] = running.brain.handshakes
    assert handshake.client.type == "external"
    assert handshake.client.name == "Paper Import Script"
    assert handshake.client.is_human is False
    assert handshake.client.capabilities.approval is False
    assert handshake.session is not None
    assert handshake.session.project_id == "proj_literature_review"
    pdf, text = running.brain.received(MemoryAdd)
    assert isinstance(pdf, MemoryAdd)
    assert isinstance(text, MemoryAdd)
    assert (pdf.content, len(pdf.blob or "")) == (None, 64)
    assert (text.content, text.blob) == ("Über Flash Attention", None)
    assert text.tags == ("imported", "unread", "2026")
    assert own_threads() == []


def client_input(running: BrainThread) -> object:
    [start] = running.brain.received(ProcessStart)
    assert isinstance(start, ProcessStart)
    return start.input or {}


def test_a_tool_may_be_offered_before_and_after_connecting(
    running: BrainThread,
) -> None:
    client = VanceClient(running.brain.url, TOKEN, name="lab")

    @client.tool(effect="read")
    def first(n: int) -> int:
        """Add one."""
        return n + 1

    assert first(1) == 2
    with client:

        @client.tool
        def second(n: int) -> str:
            # A tool may use the client it belongs to.
            inner = client.start_engine("inner", "wf_echo", {"n": n})
            return f"second {n} {client.wait(inner, 10)}"

        client.offer(lambda: "third", name="third")
        offered = [(tool.name, tool.effect) for tool in running.brain.tools]

        call: dict[str, Json] = {"tool": "first", "args": {"n": 41}}
        assert client.wait(client.start_engine("g", "wf_tool", call), 10) == 42
        call = {"tool": "second", "args": {"n": 2}}
        answer = client.wait(client.start_engine("g", "wf_tool", call), 10)

    assert offered == [("first", "read"), ("second", "once"), ("third", "once")]
    assert answer == "second 2 {'n': 2}"


def test_a_failing_tool_fails_its_process_and_nothing_else(
    client: VanceClient,
) -> None:
    @client.tool
    def fail() -> None:
        raise ValueError("no")

    process_id = client.start_engine("g", "wf_tool", {"tool": "fail"})

    with pytest.raises(ProcessFailed):
        client.wait(process_id, 10)
    assert client.connected


def test_every_question_of_the_blocking_client_is_answered(
    running: BrainThread, client: VanceClient
) -> None:
    process_id = client.start_engine("goal")

    assert client.status(process_id).goal == "goal"
    assert [row.id for row in client.processes()] == [process_id]
    assert client.tasks(process_id) == []
    assert "Waiting for Client" in client.why("task_1").text
    assert client.pause(process_id) == "paused"
    assert client.stop(process_id) == "stopped"
    with pytest.raises(ProcessFailed, match="stopped"):
        client.result(process_id)
    running.do(running.brain.finish, process_id, 7)
    assert client.result(process_id) == 7
    with pytest.raises(BrainRefused, match="unavailable"):
        client.memory_search("papers")


def test_it_comes_back_by_itself_with_its_session(
    running: BrainThread, client: VanceClient
) -> None:
    session_id = client.session_id

    running.do(running.brain.drop)
    client.start_engine("goes on")

    assert client.session_id == session_id
    assert len(running.brain.handshakes) == 2


def test_waiting_has_an_end(client: VanceClient) -> None:
    process_id = client.start_engine("goal")

    with pytest.raises(Timeout):
        client.wait(process_id, timeout=0.05)


def test_threads_share_a_client(client: VanceClient) -> None:
    results: list[object] = []

    def work(n: int) -> None:
        process_id = client.start_engine("g", "wf_echo", {"n": n})
        results.append(client.wait(process_id, 10))

    threads = [threading.Thread(target=work, args=[n]) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert sorted(str(result) for result in results) == [
        str({"n": n}) for n in range(8)
    ]


def test_a_refused_client_says_so_and_leaves_nothing(running: BrainThread) -> None:
    client = VanceClient(running.brain.url, "wrong")

    with pytest.raises(HandshakeRefused, match="unauthorized"):
        client.connect()

    assert own_threads() == []
    with pytest.raises(NotConnected):
        client.processes()


def test_a_brain_that_is_not_there_ends_connecting_in_time() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        client = VanceClient(f"http://127.0.0.1:{unused.getsockname()[1]}", TOKEN)

        with pytest.raises(Timeout, match="cannot reach"):
            client.connect(timeout=0.2)

    assert own_threads() == []


def test_a_bad_address_is_told_to_the_caller() -> None:
    with pytest.raises(BadAddress):
        VanceClient("ftp://host", TOKEN).connect()

    assert own_threads() == []


def test_used_outside_of_connect_and_disconnect_it_says_what_to_do(
    running: BrainThread,
) -> None:
    client = VanceClient(running.brain.url, TOKEN)
    with pytest.raises(NotConnected, match=r"call connect\(\) first"):
        client.start_engine("too early")

    client.connect()
    with pytest.raises(VanceError, match="connected already"):
        client.connect()
    client.disconnect()
    client.disconnect()

    with pytest.raises(NotConnected, match=r"call connect\(\) first"):
        client.start_engine("too late")
    client.connect()
    assert client.start_engine("again")
    client.disconnect()


def test_disconnect_wakes_whoever_waits(
    running: BrainThread, client: VanceClient
) -> None:
    raised: list[BaseException] = []
    process_id = client.start_engine("goal")

    def wait() -> None:
        try:
            client.wait(process_id)
        except VanceError as error:
            raised.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    running.do(running.brain.until, 1, ProcessGetQuery)
    client.disconnect()
    thread.join(10)

    assert [type(error) for error in raised] == [NotConnected]


def test_an_async_tool_that_blocks_on_its_own_client_is_told(
    client: VanceClient,
) -> None:
    seen: list[str] = []

    async def deadlock() -> None:
        try:
            client.processes()
        except VanceError as error:
            seen.append(str(error))

    client.offer(deadlock)
    client.wait(client.start_engine("g", "wf_tool", {"tool": "deadlock"}), 10)

    assert len(seen) == 1
    assert "deadlock" in seen[0]


@pytest.mark.parametrize("keys", [{}, {"api_key": "a", "token": "b"}])
def test_exactly_one_credential_is_needed(keys: dict[str, str]) -> None:
    with pytest.raises(TypeError):
        VanceClient("http://host", **keys)


def test_the_key_is_not_shown() -> None:
    assert "vance_sk_1" not in repr(VanceClient("http://host", "vance_sk_1"))
    assert "a.b.c" not in repr(VanceClient("http://host", token="a.b.c"))


# ------------------------------------------------------------- whole programs


def program(running: BrainThread, body: str) -> "subprocess.Popen[str]":
    head = f"""
        from vance_sdk import VanceClient
        client = VanceClient({running.brain.url!r}, {TOKEN!r})
        client.connect()
    """
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(head) + textwrap.dedent(body)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_ctrl_c_interrupts_a_wait_and_the_program_goes_on(
    running: BrainThread,
) -> None:
    started = program(
        running,
        """
        try:
            client.wait(client.start_engine("goal"))
        except KeyboardInterrupt:
            print("interrupted", len(client.processes()))
        client.disconnect()
        """,
    )
    with started:
        running.do(running.brain.until, 1, ProcessGetQuery)
        started.send_signal(signal.SIGINT)
        out, err = started.communicate(timeout=20)

    assert (out, err, started.returncode) == ("interrupted 1\n", "", 0)


@pytest.mark.slow
@pytest.mark.parametrize("busy", [False, True])
def test_a_program_that_forgets_to_disconnect_ends_cleanly(
    running: BrainThread, busy: bool
) -> None:
    started = program(
        running,
        f"""
        import threading
        began, never = threading.Event(), threading.Event()
        @client.tool
        def stuck():
            began.set()
            never.wait()
        if {busy}:
            client.start_engine("g", "wf_tool", {{"tool": "stuck"}})
            began.wait()
        print("end")
        """,
    )
    with started:
        out, err = started.communicate(timeout=20)

    assert (out, err, started.returncode) == ("end\n", "", 0)
    assert len(running.brain.received(ToolAccepted)) == busy
    assert running.brain.frames[-1].TYPE == "disconnect"
