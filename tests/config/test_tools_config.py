"""tools.yaml: the seed's registry format and its mistakes."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.config.home import bundled_dir
from vancetope.config.tools import load_tools, read_tools
from vancetope.config.yamlio import load_yaml
from vancetope.errors import ConfigError
from vancetope.model.tool import (
    Effect,
    Location,
    Prefer,
    Strategy,
    ToolSpec,
    ToolType,
)

BUNDLED = bundled_dir() / "tools.yaml"

SEED = """\
tools:
  - name: jira_create_issue
    location: server               # server | client | both | prefer_server | ...
    mcp_server: jira-mcp
    description: "Creates a Jira issue"
  - name: read_local_file
    location: client
    type: native
    description: "Reads a local file"
  - name: obsidian_read_note
    location: client
    mcp_server: obsidian-mcp
    description: "Reads a note from the local Obsidian Vault"
  - name: google_drive_search
    location: both
    mcp_server: google-drive-mcp
    prefer: server
    description: "Searches Google Drive"
  - name: shell_execute
    location: client
    type: native
    description: "Executes a shell command locally"
  - name: web_search
    location: server
    type: built_in
    description: "Web search"
"""


@pytest.fixture
def home_file(tmp_path: Path) -> Path:
    return tmp_path / "tools.yaml"


def load(home_file: Path, text: str) -> dict[str, ToolSpec]:
    home_file.write_text(text)
    return load_tools(BUNDLED, home_file)


def refused(home_file: Path, text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(home_file, text)
    assert caught.value.file == str(home_file)
    return caught.value


@pytest.mark.requirement("000-3-registry-format")
def test_the_registry_of_the_seed_is_read_as_it_stands(home_file: Path) -> None:
    tools = load(home_file, SEED)

    assert tools["jira_create_issue"].location is Location.SERVER
    assert tools["jira_create_issue"].mcp_server == "jira-mcp"
    assert tools["jira_create_issue"].type is ToolType.MCP
    assert tools["google_drive_search"].location is Location.BOTH
    assert tools["google_drive_search"].prefer is Prefer.SERVER
    assert tools["shell_execute"].type is ToolType.NATIVE
    assert tools["shell_execute"].effect is Effect.ONCE
    assert tools["web_search"].type is ToolType.BUILT_IN
    assert tools["web_search"].description == "Web search"


@pytest.mark.requirement("000-3-location-types", "000-3-location-shorthands")
@pytest.mark.parametrize(
    ("written", "location", "prefer"),
    [
        ("server", Location.SERVER, None),
        ("client", Location.CLIENT, None),
        ("both", Location.BOTH, None),
        ("prefer_server", Location.BOTH, Prefer.SERVER),
        ("prefer_client", Location.BOTH, Prefer.CLIENT),
    ],
)
def test_each_of_the_five_locations_has_its_meaning(
    home_file: Path, written: str, location: Location, prefer: Prefer | None
) -> None:
    tools = load(home_file, f"tools:\n  - name: x\n    location: {written}\n")

    assert (tools["x"].location, tools["x"].prefer) == (location, prefer)


@pytest.mark.requirement("000-4-strategy-config")
@pytest.mark.parametrize("strategy", list(Strategy))
def test_each_offline_strategy_can_be_configured(
    home_file: Path, strategy: Strategy
) -> None:
    text = f"tools:\n  - {{name: x, location: both, offline_strategy: {strategy}}}\n"

    assert load(home_file, text)["x"].offline_strategy is strategy


@pytest.mark.requirement("000-4-fallback-tool-config")
def test_a_fallback_tool_may_stand_in_the_bundled_file(home_file: Path) -> None:
    text = "tools:\n  - {name: x, location: client, fallback_tool: now}\n"

    assert load(home_file, text)["x"].fallback_tool == "now"


def test_the_bundled_tools_have_the_effects_that_make_resending_safe() -> None:
    tools = load_tools(BUNDLED, None)

    assert {name: spec.effect for name, spec in tools.items()} == {
        "now": Effect.READ,
        "extract_keywords": Effect.READ,
        "summarize_text": Effect.READ,
        "outline_document": Effect.READ,
        "list_local_files": Effect.READ,
        "read_local_file": Effect.READ,
        "search_local_files": Effect.READ,
        "write_local_file": Effect.IDEMPOTENT,
    }
    for name, spec in tools.items():
        local = name.endswith(("local_file", "local_files"))
        assert spec.location is (Location.CLIENT if local else Location.SERVER)
        assert spec.description.endswith(".")
        assert spec.source == "bundled"


def test_a_home_entry_replaces_the_bundled_one_whole(home_file: Path) -> None:
    tools = load(home_file, "# mine\ntools:\n  - {name: now, location: client}\n")

    assert tools["now"] == ToolSpec(
        name="now", location=Location.CLIENT, source=f"{home_file}:3"
    )
    assert "read_local_file" in tools


def test_an_absent_home_file_changes_nothing(tmp_path: Path) -> None:
    assert load_tools(BUNDLED, tmp_path / "none.yaml") == load_tools(BUNDLED, None)


def entry(*lines: str) -> str:
    return "tools:\n  - name: x\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize(
    ("lines", "line", "field", "says"),
    [
        (["location: both", "locaton: both"], 4, "locaton", "Did you mean location?"),
        (["location: cloud"], 3, "location", "server, client, both, prefer_server"),
        (["type: native"], 2, "location", "is missing"),
        (["location: both", "type: magic"], 4, "type", "native, mcp, built_in"),
        (["location: both", "effect: twice"], 4, "effect", "read, idempotent, once"),
        (["location: both", "offline_strategy: no"], 4, "offline_strategy", "queue"),
        (["location: both", "on_unknown: retry"], 4, "on_unknown", "ask, verify, fail"),
        (["location: both", "on_unknown: verify"], 4, "on_unknown", "verify_tool"),
        (["location: both", "approval: maybe"], 4, "approval", "call, result"),
        (["location: client", "prefer: server"], 4, "prefer", "location: both"),
        (["location: prefer_server", "prefer: client"], 4, "prefer", "contradicts"),
        (["location: both", "fallback_tool: x"], 4, "fallback_tool", "itself"),
        (["location: both", "fallback_tool: nwo"], 4, "fallback_tool", "mean now?"),
        (["location: both", "verify_tool: nope"], 4, "verify_tool", "is no tool"),
        (
            ["location: both", "verify_tool: write_local_file"],
            4,
            "verify_tool",
            "idempotent",
        ),
        (["location: server", "type: mcp"], 2, "mcp_server", "is missing"),
        (["location: server", "mcp_tool: t"], 2, "mcp_server", "is missing"),
        (["location: server", "type: native", "mcp_server: m"], 4, "type", "mcp"),
        (["location: both", "description: [a]"], 4, "description", "text"),
    ],
)
def test_a_mistake_in_an_entry_names_line_field_and_fix(
    home_file: Path, lines: list[str], line: int, field: str, says: str
) -> None:
    error = refused(home_file, entry(*lines))

    assert (error.line, error.field) == (line, f"tools[0].{field}")
    assert says in str(error)


@pytest.mark.parametrize("name", ["a b", "a@b", "", "x" * 65, "ü"])
def test_a_name_that_could_not_be_addressed_is_refused(
    home_file: Path, name: str
) -> None:
    error = refused(home_file, f"tools:\n  - {{name: '{name}', location: both}}\n")

    assert error.field == "tools[0].name"


def test_a_tool_that_stands_twice_names_both_lines(home_file: Path) -> None:
    text = "tools:\n  - {name: x, location: both}\n  - {name: x, location: client}\n"

    error = refused(home_file, text)

    assert error.line == 3
    assert "first in line 2" in str(error)


def test_every_broken_entry_is_told_and_the_others_still_work(home_file: Path) -> None:
    home_file.write_text(
        "tools:\n  - {name: a, location: moon}\n  - {name: b, location: both}\n"
        "  -\n  - {name: c, location: both, effect: x}\nmore: 1\n"
    )

    tools, problems = read_tools(BUNDLED, home_file)

    assert [problem.line for problem in problems] == [2, 4, 5, 6]
    assert "b" in tools
    assert not {"a", "c"} & set(tools)


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["name", "location", "prefer", "type", "effect", "zz"]),
            st.sampled_from(["x", "both", "server", "mcp", "read", ""])
            | st.none()
            | st.integers(),
        )
        | st.none()
        | st.text(max_size=3),
        max_size=3,
    )
)
def test_any_list_is_tools_or_config_errors(
    tmp_path_factory: pytest.TempPathFactory, entries: list[object]
) -> None:
    file = tmp_path_factory.mktemp("home") / "tools.yaml"
    file.write_text(f"tools: {entries!r}".replace("None", "null"))
    assert load_yaml(file.read_text(), file="f").data is not None

    tools, problems = read_tools(BUNDLED, file)

    assert len(tools) >= 8
    assert all(problem.fix for problem in problems)
