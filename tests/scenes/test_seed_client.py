"""Thirty lines that know only the seed's messages, against a Brain on a real port."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.support import seed_client
from vancetope.brain import run_brain
from vancetope.clock import SystemClock
from vancetope.config.home import Home
from vancetope.crypto import SigningKey

FLOW = """\
inputs: {folder: {}}
tasks:
  - {id: list, tool: list_notes, args: {folder: "{{ inputs.folder }}"}}
  - id: read
    foreach: "{{ tasks.list.result }}"
    tool: read_note
    args: {name: "{{ item }}"}
  - {id: date, tool: now, args: {zone: UTC}}
result: {texts: "{{ tasks.read.result | list }}", zone: "{{ tasks.date.result.zone }}"}
"""
MOST_LINES = 30


@pytest.mark.requirement("003-2-seed-only-client")
def test_the_seed_client_has_at_most_thirty_lines() -> None:
    lines = Path(seed_client.__file__).read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MOST_LINES


@pytest.mark.slow
@pytest.mark.requirement("003-2-seed-only-client", "003-1-websocket-and-json-suffice")
async def test_a_client_of_the_seed_starts_serves_and_reads_the_result(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path / "home")
    home.workflows.mkdir(parents=True)
    (home.workflows / "notes.yaml").write_text(FLOW, encoding="utf-8")
    token = SigningKey.of_home(home.secrets).mint(SystemClock())
    stop = trio.Event()
    served: list[str] = []

    def read_note(name: str) -> str:
        served.append(name)
        return f"# {name}"

    tools: dict[str, Any] = {
        "list_notes": lambda folder: [f"{folder}/a", f"{folder}/b"],
        "read_note": read_note,
    }
    result: Any = None
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            url = await nursery.start(
                partial(run_brain, home, clock=SystemClock(), stop=stop, port=0)
            )
            result = await trio.to_thread.run_sync(
                partial(
                    seed_client.run,
                    url.replace("http", "ws") + "/api/ws",
                    token,
                    "notes",
                    tools,
                    folder="n",
                ),
                abandon_on_cancel=True,
            )
            stop.set()
    assert result == {"texts": ["# n/a", "# n/b"], "zone": "UTC"}
    assert sorted(served) == ["n/a", "n/b"]


@pytest.mark.slow
async def test_a_client_of_the_seed_reads_the_error_of_a_bad_token(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path / "home")
    stop = trio.Event()
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            url = await nursery.start(
                partial(run_brain, home, clock=SystemClock(), stop=stop, port=0)
            )
            call = partial(
                seed_client.run, url.replace("http", "ws") + "/api/ws", "no", "x", {}
            )
            with pytest.raises(RuntimeError, match="does not verify"):
                await trio.to_thread.run_sync(call, abandon_on_cancel=True)
            stop.set()
