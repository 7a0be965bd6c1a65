"""What leaves a command is a line and an exit code."""

import sys
from collections.abc import Callable
from types import ModuleType

import click
import pytest
from click.testing import CliRunner, Result

from vance_sdk.errors import BrainRefused, ConnectionLost, HandshakeRefused
from vancetope.cli.main import Boundary
from vancetope.cli.options import common
from vancetope.errors import ConfigError, HomeError

Run = Callable[..., Result]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command that raises something."""

    def run(error: BaseException, *args: str) -> Result:
        @click.command()
        @common
        def fail() -> None:
            raise error

        module = ModuleType("a_failing_command")
        module.fail = fail  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        lazy = {"fail": ("a_failing_command:fail", "Fails.")}

        @click.group(cls=Boundary, lazy=lazy)
        @common
        def group() -> None:
            pass

        return CliRunner().invoke(group, ["fail", *args])

    return run


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            HomeError("the home is locked", fix="Stop it."),
            "the home is locked. Stop it.",
        ),
        (
            ConfigError("no such tool", file="a.yaml", line=3, fix="Name another."),
            "a.yaml:3: no such tool. Name another.",
        ),
        (
            BrainRefused("unavailable", "No model", {"fix": "Name a workflow"}),
            "No model. Name a workflow",
        ),
        (
            HandshakeRefused(
                "http_421",
                'HTTP 421 instead of a WebSocket {"error":{"code":"misdirected",'
                '"message":"this Host is not served here (gateway.allowed_hosts)"}}',
            ),
            (
                "the Brain refused the connection: it is not called by this host. Add the"
                " host of its URL to `gateway.allowed_hosts` in the brain.yaml of the"
                " Brain, and start it again."
            ),
        ),
        (
            HandshakeRefused(
                "forbidden",
                'HTTP 403 instead of a WebSocket {"error":{"code":"forbidden",'
                '"message":"this Origin is not allowed (gateway.allowed_origins)"}}',
            ),
            (
                "the Brain refused the connection: it is not called by this origin. Add"
                " the origin to `gateway.allowed_origins` in the brain.yaml of the Brain,"
                " and start it again."
            ),
        ),
        (
            ConnectionLost(1006, "cannot reach ws://vm:1/api/ws: refused"),
            "cannot reach ws://vm:1/api/ws: refused",
        ),
        (PermissionError(13, "Permission denied", "x"), "x: Permission denied"),
        (HomeError("two\nlines", fix=""), "two lines"),
    ],
    ids=[
        "home",
        "config",
        "refused",
        "host",
        "origin",
        "nobody",
        "os",
        "one line",
    ],
)
def test_a_foreseeable_error_is_one_line_with_its_fix(
    failing: Run, error: Exception, line: str
) -> None:
    for raised in (error, ExceptionGroup("", [ExceptionGroup("", [error])])):
        result = failing(raised)

        assert (result.exit_code, result.stderr) == (1, f"Error: {line}\n")


def test_an_unexpected_error_is_a_short_message(failing: Run) -> None:
    result = failing(ZeroDivisionError("by zero"))

    assert result.exit_code == 1
    assert result.stderr.startswith("Error: something broke in this program: ZeroDiv")
    assert "--debug" in result.stderr
    assert "Traceback" not in result.output


def test_debug_lets_the_traceback_through(failing: Run) -> None:
    result = failing(ZeroDivisionError("by zero"), "--debug")

    assert isinstance(result.exception, ZeroDivisionError)


def test_an_interrupt_is_130_and_says_nothing(failing: Run) -> None:
    group = BaseExceptionGroup("", [ValueError("lost"), KeyboardInterrupt()])
    for raised in (KeyboardInterrupt(), group):
        result = failing(raised)

        assert (result.exit_code, result.output) == (130, "")


def test_a_closed_pipe_is_quiet(failing: Run) -> None:
    result = failing(BrokenPipeError(32, "Broken pipe"))

    assert (result.exit_code, result.output) == (1, "")


def test_the_exit_code_of_a_command_passes_through_a_group(failing: Run) -> None:
    result = failing(ExceptionGroup("", [click.exceptions.Exit(4)]))

    assert result.exit_code == 4
