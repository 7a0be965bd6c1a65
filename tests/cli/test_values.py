"""`--input K=V`, names and rows: the small rules of the command line."""

import json
import socket

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from vance_sdk.wire.params import is_client_name
from vancetope.cli.client import default_name
from vancetope.cli.main import cli
from vancetope.cli.run import input_value
from vancetope.cli.show import plain

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(JSON)
def test_an_input_in_json_is_what_it_says(value: object) -> None:
    assert input_value(json.dumps(value)) == value


@pytest.mark.parametrize(
    "text", ["~/Documents", "", "5m", "NaN", "-Infinity", "[1,", "True", "a=b", "{x}"]
)
def test_any_other_input_is_text(text: str) -> None:
    assert input_value(text) == text


def test_a_number_in_quotes_is_text() -> None:
    assert (input_value("5"), input_value('"5"')) == (5, "5")


@given(st.text(max_size=80))
def test_any_input_is_taken(text: str) -> None:
    input_value(text)


def test_a_deep_input_is_taken_as_text() -> None:
    deep = "[" * 200_000

    assert input_value(deep) == deep


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["run", "clock", "--input", "nonsense"], "not of the form NAME=VALUE"),
        (["run", "clock", "--input", "=x"], "not of the form NAME=VALUE"),
        (["run", "clock", "--timeout", "soon"], "not a length of time"),
        (["run", " "], "is empty"),
        (["run"], "Missing argument"),
        (["token", "create", "--ttl", "5"], "not a length of time"),
        (["token", "create", "--ttl", "1ms"], "shorter than a second"),
        (["token", "create", "--kind", "robot"], "is not one of"),
        (["serve", "--port", "99999"], "not in the range"),
        (["client", "--root", ".", "--name", "a b"], "--name"),
        (["client", "--root", ".", "--profile", "A"], "--profile"),
        (["client", "--root", ".", "--url", "ftp://x"], "--url"),
        (["client", "--root", "no-such-folder"], "does not exist"),
        (["demo", "--folder", "no-such-folder"], "does not exist"),
    ],
)
def test_a_wrong_use_is_exit_code_2_and_says_what(
    words: list[str], complaint: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("home")

    result = CliRunner(env={"VANCETOPE_HOME": str(home)}).invoke(cli, words)

    assert result.exit_code == 2
    assert complaint in result.stderr
    assert result.stdout == ""
    assert list(home.iterdir()) == []


def test_a_client_that_nobody_started_at_a_terminal_demands_its_folders() -> None:
    # CliRunner's stdin is no terminal.
    result = CliRunner().invoke(cli, ["client"], prog_name="vancetope")

    assert result.exit_code == 2
    assert "vancetope client --root ~/Documents" in result.stderr


@given(st.text(max_size=100))
def test_any_machine_name_makes_a_client_name(name: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "gethostname", lambda: name)

        assert is_client_name(default_name())


@given(st.text())
def test_what_is_shown_cannot_steer_a_terminal(text: str) -> None:
    shown = plain(text)

    assert shown.isprintable()


def test_letters_of_all_scripts_are_shown() -> None:
    assert plain("作业 1\x1b[31m é\n") == "作业 1 [31m é"
