"""A signal before a command handles signals: while Python still imports."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import PATIENCE_S, ROOT, environment
from vancetope.cli.early import command_of

MODULE = ["-P", "-m", "vancetope.cli.main"]
INSTALLED = ["-P", "-c", "from vancetope.cli.early import main; main()"]


@pytest.mark.parametrize("start", [MODULE, INSTALLED], ids=["module", "installed"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(
    ("words", "clean"),
    [
        (["serve"], True),
        (["--home", "h", "serve", "--port", "0"], True),
        (["client"], True),
        (["ps"], False),
        (["run", "serve"], False),
    ],
    ids=["serve", "home first", "client", "ps", "run"],
)
def test_a_stop_during_the_imports_is_clean_where_a_later_one_is(
    tmp_path: Path,
    start: list[str],
    number: signal.Signals,
    words: list[str],
    clean: bool,
) -> None:
    # The first of the long imports sends the signal.
    (tmp_path / "click.py").write_text(
        f"import os\nos.kill(os.getpid(), {int(number)})\n", encoding="utf-8"
    )
    path = os.pathsep.join([str(tmp_path), str(ROOT)])

    done = subprocess.run(
        [sys.executable, *start, *words],
        env=environment(PYTHONPATH=path),
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )

    assert (done.returncode == 0) is clean
    assert done.stdout == b""


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ([], ""),
        (["serve"], "serve"),
        (["--home", "serve"], ""),
        (["--home=x", "--debug", "client", "--root", "serve"], "client"),
    ],
)
def test_the_command_is_the_first_word_that_is_no_option(
    words: list[str], name: str
) -> None:
    assert command_of(words) == name
