"""Every example of README.md works as it stands there."""

import re
import shlex
from pathlib import Path

import click
import pytest

from tests.support.processes import cli as run_cli
from tests.support.processes import running
from vancetope.cli.main import cli
from vancetope.config.brain import load_brain_config
from vancetope.config.home import bundled_dir
from vancetope.config.tools import load_tools
from vancetope.processes.workflows.parse import parse_workflow

README = Path(__file__).resolve().parents[2] / "README.md"
BLOCK = re.compile(
    r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)


def blocks(language: str) -> list[str]:
    text = README.read_text(encoding="utf-8")
    return [b["text"] for b in BLOCK.finditer(text) if b["language"] == language]


def commands() -> list[str]:
    lines = "\n".join(blocks("sh")).splitlines()
    return [line for line in lines if line.startswith("scripts/vancetope ")]


@pytest.mark.parametrize("line", commands())
def test_a_command_of_the_readme_exists_with_its_options(
    line: str, tmp_path: Path
) -> None:
    here = line.replace("~/Documents", str(tmp_path))
    words = shlex.split(here, comments=True)[1:]
    with click.Context(cli, info_name="vancetope") as context:
        name, command, rest = cli.resolve_command(context, words)
        assert command is not None, name
        if isinstance(command, click.Group):
            with click.Context(command, info_name=name, parent=context) as inner:
                name, found, rest = command.resolve_command(inner, rest)
                assert found is not None, name
                command = found
        # Parsing alone: it complains about an option or argument that is not there.
        command.make_context(name, list(rest), parent=context, resilient_parsing=False)


def test_there_are_commands_to_check() -> None:
    assert len(commands()) >= 10


def test_the_workflow_of_the_readme_has_no_mistake() -> None:
    text = next(block for block in blocks("yaml") if block.startswith("goal:"))
    workflow = parse_workflow(text, file="notes.yaml", stem="notes")

    assert [task.key for task in workflow.tasks] == ["hits", "files", "read", "terms"]


def test_the_tools_file_of_the_readme_has_no_mistake(tmp_path: Path) -> None:
    text = next(block for block in blocks("yaml") if block.startswith("tools:"))
    file = tmp_path / "tools.yaml"
    file.write_text(text, encoding="utf-8")

    tools = load_tools(bundled_dir() / "tools.yaml", file)

    assert tools["lab_balance"].offline_strategy == "queue"


WEIGH = """
tasks:
  - id: weigh
    tool: lab_balance
    args: {unit: kg}
"""


def test_the_python_example_of_the_readme_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = blocks("python")
    home = tmp_path / "home"
    (home / "workflows").mkdir(parents=True)
    (home / "workflows" / "weigh.yaml").write_text(WEIGH, encoding="utf-8")
    with running(home, "serve", "--port", "0") as brain:
        url = brain.line().split()[1]
        token = run_cli(home, "token", "create").stdout.strip()
        here = example.replace("http://127.0.0.1:7717", url)
        exec(compile(here, "README.md", "exec"), {"TOKEN": token})
        assert brain.end() == 0

    assert capsys.readouterr().out == "{'weigh': {'mass': 12.5, 'unit': 'kg'}}\n"


def test_the_settings_of_the_readme_are_settings(tmp_path: Path) -> None:
    text = next(block for block in blocks("yaml") if block.startswith("gateway:"))
    file = tmp_path / "brain.yaml"
    file.write_text(text, encoding="utf-8")

    config = load_brain_config(file)

    assert config.gateway.allowed_hosts == ("HOST",)
