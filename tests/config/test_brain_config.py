"""brain.yaml: defaults, units, mistakes."""

from pathlib import Path

import attrs
import pytest

from vancetope.config.brain import (
    BrainConfig,
    load_brain_config,
    read_brain_config,
    setting_rows,
)
from vancetope.config.durations import Duration
from vancetope.errors import ConfigError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "brain.yaml"


def test_without_a_file_every_limit_is_the_protocol_s(file: Path) -> None:
    config = load_brain_config(file)

    gateway, limits = config.gateway, config.limits
    assert (gateway.host, gateway.port) == ("127.0.0.1", 7717)
    assert gateway.handshake_timeout == Duration(10_000)
    assert (gateway.first_frame_bytes, gateway.frame_bytes) == (65_536, 1_048_576)
    assert (gateway.json_depth, gateway.pre_auth_sockets) == (64, 64)
    assert gateway.ping_interval == Duration(10_000)
    assert gateway.dead_after == Duration(25_000)
    assert gateway.resume_window == Duration(900_000)
    assert gateway.send_timeout == Duration(20_000)
    assert gateway.shutdown_grace == Duration(3000)
    assert (limits.window, limits.parallel_tasks) == (16, 16)
    assert limits.inline_result_bytes == 262_144
    assert limits.call_timeout == Duration(600_000)


def test_what_is_written_replaces_the_default_and_nothing_else(file: Path) -> None:
    file.write_text(
        "gateway:\n  port: 0\n  handshake_timeout: 2s\n"
        "  allowed_hosts: [nas.local]\nlimits:\n  window: 4\n"
    )

    config = load_brain_config(file)

    assert config.gateway.port == 0
    assert config.gateway.handshake_timeout.seconds == 2
    assert config.gateway.allowed_hosts == ("nas.local",)
    assert config.limits.window == 4
    assert config.limits.parallel_tasks == 16


def test_an_empty_file_and_an_empty_section_are_the_defaults(file: Path) -> None:
    file.write_text("# nothing yet\n")
    assert load_brain_config(file) == BrainConfig()
    file.write_text("gateway:\n")
    assert load_brain_config(file) == BrainConfig()


@pytest.mark.parametrize(
    ("text", "line", "field", "fix"),
    [
        ("gatway:\n  port: 1", 1, "gatway", "Did you mean gateway?"),
        ("gateway:\n  prot: 1", 2, "gateway.prot", "Did you mean port?"),
        ("gateway:\n  port: 70000", 2, "gateway.port", "from 0 to 65535"),
        ("gateway:\n  port: '80'", 2, "gateway.port", "without quotes"),
        ("gateway:\n  port: true", 2, "gateway.port", "without quotes"),
        ("gateway:\n  dead_after: 25", 2, "gateway.dead_after", "3s"),
        ("gateway:\n  dead_after: soon", 2, "gateway.dead_after", "3s"),
        ("gateway:\n  dead_after: 5s", 2, "gateway.dead_after", "twice"),
        ("gateway:\n  allowed_hosts: x", 2, "gateway.allowed_hosts", "[a, b]"),
        ("gateway:\n  allowed_hosts: [1]", 2, "gateway.allowed_hosts[0]", "quotes"),
        ("gateway:\n  frame_bytes: 1024", 2, "gateway.frame_bytes", "at least"),
        ("gateway: 5", 1, "gateway", "key: value"),
        ("- 1", 1, None, "key: value"),
        ("gateway: [", 1, None, "bracket"),
    ],
)
def test_a_mistake_names_line_field_and_fix(
    file: Path, text: str, line: int, field: str | None, fix: str
) -> None:
    file.write_text(text)

    with pytest.raises(ConfigError) as caught:
        load_brain_config(file)

    error = caught.value
    assert (error.file, error.line, error.field) == (str(file), line, field)
    assert fix in error.fix


def test_all_mistakes_are_told_in_the_order_of_the_file(file: Path) -> None:
    file.write_text("limits:\n  window: 0\ngateway:\n  port: x\nmore: 1\n")

    config, problems = read_brain_config(file)

    assert [problem.line for problem in problems] == [2, 4, 5]
    assert config.limits.window == 16


def test_the_rows_for_the_documentation_name_every_setting() -> None:
    rows = setting_rows()

    names = [name for name, _, _ in rows]
    defaults = attrs.asdict(BrainConfig(), recurse=False)
    count = sum(len(attrs.fields(type(section))) for section in defaults.values())
    assert len(set(names)) == len(names) == count
    assert ("gateway.handshake_timeout", "10s") in [row[:2] for row in rows]
    assert all(meaning.endswith(".") for _, _, meaning in rows)
