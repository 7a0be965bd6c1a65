"""The first thing that runs: a stop in the moment of the imports is a clean one too.

Imports next to nothing, or the moment would come before it.
"""

import os
import signal
import sys
from collections.abc import Sequence

#: Commands that end with 0 at a signal; the others have their default.
_STOPPABLE = ("serve", "client")


def stop_cleanly_from_now_on(words: Sequence[str]) -> None:
    """Until the command handles signals itself, end with 0: nothing is open yet.

    Args:
        words: what follows the program's name.
    """
    if command_of(words) in _STOPPABLE:
        for number in (signal.SIGTERM, signal.SIGINT):
            # A background job of a shell ignores Ctrl-C.
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, lambda *_: os._exit(0))


def command_of(words: Sequence[str]) -> str:
    """The command's name: the first word that is no option of the program's own."""
    rest = iter(words)
    for word in rest:
        if word == "--home":
            next(rest, None)
        elif not word.startswith("-"):
            return word
    return ""


def main() -> None:
    """The entry point of the installed command."""
    stop_cleanly_from_now_on(sys.argv[1:])
    from vancetope.cli.main import main as run

    run()
