"""Why there is no connection to a Brain, in words for people."""

import json
from typing import Final

from vance_sdk.errors import ConnectionLost, HandshakeRefused, VanceError

#: Reasons of a connection that is said to be lost and never was one.
_NEVER_WAS: Final = (
    "cannot reach ",
    "no connection within ",
    "no TLS with ",
    "closed before it was a WebSocket",
)


def words_of(problem: VanceError, url: str | None = None) -> str:
    """One line about a connection that is not there.

    Args:
        problem: why.
        url: where the Brain was called, if that is known.
    """
    match problem:
        case HandshakeRefused():
            return f"the Brain refused the connection: {brains_words(problem)}"
        case ConnectionLost() if problem.reason.startswith(_NEVER_WAS):
            if url is None or problem.reason.startswith(_NEVER_WAS[0]):
                return problem.reason
            return f"cannot reach {url}: {problem.reason}"
        case _:
            return str(problem)


def brains_words(refused: HandshakeRefused) -> str:
    """What the Brain says, without the JSON and the HTTP around it."""
    before, brace, rest = refused.message.partition("{")
    try:
        said = json.loads(brace + rest)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        return refused.message
    return f"{said} ({before.removesuffix(' instead of a WebSocket ')})"
