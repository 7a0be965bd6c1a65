"""What is said of a connection that is not there."""

import pytest

from vance_sdk.errors import ConnectionLost, HandshakeRefused, VanceError
from vancetope.client.trouble import words_of

URL = "http://vm:7717"


@pytest.mark.parametrize(
    ("problem", "line"),
    [
        (
            ConnectionLost(1006, "cannot reach ws://vm:7717/api/ws: refused"),
            "cannot reach ws://vm:7717/api/ws: refused",
        ),
        (
            ConnectionLost(1006, "no connection within 10 s"),
            f"cannot reach {URL}: no connection within 10 s",
        ),
        (
            ConnectionLost(1006, "silent for 25 s"),
            "connection lost (1006) silent for 25 s",
        ),
        (
            HandshakeRefused(
                "http_503",
                'HTTP 503 instead of a WebSocket {"error":{"message":"too many"}}',
            ),
            "the Brain refused the connection: too many (HTTP 503)",
        ),
        (
            HandshakeRefused("http_502", "HTTP 502 instead of a WebSocket <html>"),
            "the Brain refused the connection: HTTP 502 instead of a WebSocket <html>",
        ),
        (
            HandshakeRefused("http_500", 'HTTP 500 instead of a WebSocket {"error":5}'),
            (
                "the Brain refused the connection:"
                ' HTTP 500 instead of a WebSocket {"error":5}'
            ),
        ),
    ],
    ids=["nobody", "too slow", "lost", "a Brain's words", "a proxy's", "other JSON"],
)
def test_what_is_said_names_the_cause_and_nothing_else(
    problem: VanceError, line: str
) -> None:
    assert words_of(problem, URL) == line


def test_without_a_url_the_reason_is_alone() -> None:
    lost = ConnectionLost(1006, "no connection within 10 s")

    assert words_of(lost) == "no connection within 10 s"
