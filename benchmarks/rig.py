"""A Brain as a process of its own, and a raw client that knows only the wire."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import attrs
import trio
from trio_websocket import WebSocketConnection, open_websocket_url

START_S: Final = 30.0


@attrs.frozen
class ServedBrain:
    """A running `vancetope serve`.

    Attributes:
        seconds: from the start of the process to its `ready` line.
    """

    home: Path
    url: str
    process: "subprocess.Popen[str]"
    seconds: float

    def token(self) -> str:
        """A token of the Brain's home."""
        command = [*CLI, "token", "create", "--home", str(self.home)]
        made = subprocess.run(command, check=True, capture_output=True, text=True)
        return made.stdout.strip()

    def resident_mb(self) -> float:
        """Resident memory of the process, in megabytes of 10^6 bytes."""
        text = Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii")
        return int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


CLI: Final = (sys.executable, "-m", "vancetope.cli.main")


@contextmanager
def served(workflows: dict[str, str] | None = None) -> Iterator[ServedBrain]:
    """Start a Brain on a new home with these workflow files; stop it at the end."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "workflows").mkdir()
        for name, text in (workflows or {}).items():
            (home / "workflows" / f"{name}.yaml").write_text(text, encoding="utf-8")
        command = [*CLI, "serve", "--home", str(home), "--port", "0"]
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            seconds = time.perf_counter() - began
            if not line.startswith("ready "):
                raise SystemExit(f"the Brain did not start: {line!r}")
            yield ServedBrain(home, line.split()[1], process, seconds)
        finally:
            process.terminate()
            process.wait(timeout=START_S)


@asynccontextmanager
async def connected(
    brain: ServedBrain, token: str, *tools: str, project: str = "bench", name: str = "c"
) -> AsyncIterator[WebSocketConnection]:
    """A raw client past its handshake, in a new session of the project."""
    url = f"{brain.url.replace('http', 'ws', 1)}/api/ws?profile=foot&name={name}"
    async with open_websocket_url(url) as ws:
        offers = [{"name": tool, "type": "native"} for tool in tools]
        hello = {
            "type": "handshake",
            "client": {"type": "cli", "name": name, "tools": offers},
            "auth": {"token": token},
            "session": {"project_id": project},
        }
        await ws.send_message(json.dumps(hello))
        opened = json.loads(await ws.get_message())
        assert opened["type"] == "session_created", opened
        yield ws


async def send(ws: WebSocketConnection, **frame: Any) -> None:
    """Send one frame."""
    await ws.send_message(json.dumps(frame))


async def until(ws: WebSocketConnection, kind: str, **fields: Any) -> dict[str, Any]:
    """The next frame of this type with these fields."""
    while True:
        frame: dict[str, Any] = json.loads(await ws.get_message())
        if frame["type"] == "error":
            raise SystemExit(f"the Brain says {frame}")
        wanted = frame["type"] == kind
        if wanted and all(frame.get(key) == value for key, value in fields.items()):
            return frame


def run(main: Any, *args: Any) -> Any:
    """Run an async benchmark with a bound."""

    async def bounded() -> Any:
        with trio.fail_after(600):
            return await main(*args)

    return trio.run(bounded)
