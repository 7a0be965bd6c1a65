"""Commands reach the Brain of their home wherever it listens, or say why not."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import trio.testing

from tests.cli.conftest import PATIENCE_S, Command, Start, brains_of
from vancetope.cli import launch
from vancetope.cli.launch import TAKEN, Launcher
from vancetope.cli.link import open_link
from vancetope.config.home import Home
from vancetope.errors import HomeError

REFUSED = (
    "Error: the Brain at http://127.0.0.2:{port} refused the connection: it is not"
    " called by this host. Add '127.0.0.2:{port}' to `gateway.allowed_hosts` in the"
    " brain.yaml of the Brain, and start it again.\n"
)


def announced(home: Path) -> str:
    return str(json.loads((home / "brain.json").read_bytes())["url"])


@pytest.mark.slow
def test_a_brain_for_all_addresses_is_reached_by_the_loopback(
    home: Path, start: Start, command: Command
) -> None:
    brain = start("serve", "--host", "0.0.0.0", "--port", 0, "--home", home)
    word, url = brain.line().split()

    assert (word, url.rpartition(":")[0]) == ("ready", "http://0.0.0.0")
    assert announced(home) == url.replace("0.0.0.0", "127.0.0.1")
    assert command.json("ps") == []
    assert brain.stop() == (0, "", "")


@pytest.mark.slow
def test_a_brain_for_a_run_is_for_this_machine_only(
    home: Path, start: Start, command: Command
) -> None:
    text = "gateway: {host: 0.0.0.0, port: 1}\n"
    (home / "brain.yaml").write_text(text, encoding="utf-8")

    code, out, _ = start("run", "clock", "--home", home).end()

    assert (code, out.splitlines()[1]) == (0, "done")
    (brain,) = brains_of(home)
    listening = {c.laddr.ip for c in brain.net_connections() if c.status == "LISTEN"}
    assert listening == {"127.0.0.1"}


@pytest.mark.slow
def test_a_brain_that_refuses_the_host_is_an_error_and_starts_no_other(
    home: Path, tmp_path: Path, start: Start
) -> None:
    brain = start("serve", "--host", "0.0.0.0", "--port", 0, "--home", home)
    port = brain.line().rpartition(":")[2]
    foreign = f"http://127.0.0.2:{port}"
    said = json.dumps({"pid": brain.process.pid, "url": foreign})
    (home / "brain.json").write_text(said, encoding="utf-8")

    for words in (["ps"], ["run", "clock", "--timeout", "1s"]):
        ended = start(*words, "--home", home).end()
        assert ended == (1, "", REFUSED.format(port=port))
    lend = ["client", "--url", foreign, "--root", tmp_path, "--home", home]
    assert start(*lend).end() == (1, "", REFUSED.format(port=port))

    assert brains_of(home) == []
    assert brain.stop(signal.SIGINT)[0] == 0


async def test_a_brain_that_never_answers_is_given_up_with_the_reason(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    home = Home(tmp_path)
    home.runtime.write_text(json.dumps({"pid": os.getpid(), "url": url}))
    began = trio.current_time()

    with pytest.raises(HomeError, match=r"does not answer \(cannot reach ws://127"):
        async with open_link(Launcher(home, may_start=False), within_s=5):
            pytest.fail("nobody is there")

    assert trio.current_time() - began < 6


def test_after_one_brain_that_had_to_leave_no_other_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Seen failing: without the memory of whom it left for, there were twenty.
    monkeypatch.setattr(launch, "HELD_S", 0.0)
    monkeypatch.setattr(launch, "AGAIN_S", 0.0)
    started: list[int] = []

    def spawn(_: Launcher) -> int:
        code = f"raise SystemExit({TAKEN})"
        child = os.posix_spawn(
            sys.executable, [sys.executable, "-S", "-c", code], os.environ
        )
        started.append(child)
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        return child

    monkeypatch.setattr(Launcher, "_spawn", spawn)
    home = Home(tmp_path)
    launcher = Launcher(home)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=-1) as holder:
        home.lock.write_text(f"{holder.pid}\n")
        for _ in range(20):
            launcher.look()
        assert len(started) == 1

        holder.kill()
        holder.wait(PATIENCE_S)
    launcher.look()
    assert len(started) == 2
    launcher.look()
