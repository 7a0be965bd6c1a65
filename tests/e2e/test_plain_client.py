"""Who speaks WebSocket and JSON, and nothing else of ours, can use the Brain."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import BOUND_S, cli, running

SCRIPT = Path(__file__).with_name("plain_client.py")
TWICE = """\
goal: Double a number where the client is
inputs: {number: {}}
tasks:
  - {id: there, tool: double, args: {number: "{{ inputs.number }}"}}
  - {id: here, tool: now, args: {zone: UTC}}
result: "{{ tasks.there.result }} in {{ tasks.here.result.zone }}"
"""


@pytest.mark.slow
@pytest.mark.requirement("003-1-websocket-and-json-suffice")
def test_thirty_lines_start_a_workflow_serve_its_tool_and_read_its_result(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    (home / "workflows").mkdir(parents=True)
    (home / "workflows" / "twice.yaml").write_text(TWICE, encoding="utf-8")
    with running(home, "serve", "--port", "0") as brain:
        url = brain.line().split()[1]
        token = cli(home, "token", "create").stdout.strip()
        done = subprocess.run(
            [sys.executable, str(SCRIPT), url, token],
            capture_output=True,
            text=True,
            check=False,
            timeout=BOUND_S,
        )
        assert brain.end() == 0

    assert (done.stdout, done.stderr, done.returncode) == ("42 in UTC\n", "", 0)
    source = SCRIPT.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 30
    assert "vance" not in source
