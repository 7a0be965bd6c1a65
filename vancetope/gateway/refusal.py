"""An HTTP request that is turned away: status, headers and the one error shape."""

from http import HTTPStatus
from typing import Final

import attrs

from vancetope.model.json import dumps

#: Stable `error.code` of each status the edge answers with by itself.
CODES: Final[dict[int, str]] = {
    400: "bad_request",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    413: "too_big",
    421: "misdirected",
    426: "upgrade_required",
    431: "too_big",
    500: "internal",
    501: "not_implemented",
    503: "unavailable",
    505: "version_not_supported",
}


def error_body(status: int, message: str) -> bytes:
    """The JSON body of every HTTP error: `{"error": {"code", "message"}}`."""
    code = CODES.get(status, HTTPStatus(status).name.lower())
    return dumps({"error": {"code": code, "message": message}}).encode()


@attrs.frozen
class Refusal(Exception):
    """Turn a request away with `status`; `message` is for the person who reads it."""

    status: int
    message: str
    headers: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.status} {self.message}"

    def asgi_headers(self) -> list[tuple[bytes, bytes]]:
        """The headers as ASGI wants them, with those every refusal carries."""
        return [
            (name.encode("ascii"), value.encode("ascii"))
            for name, value in (
                ("content-type", "application/json"),
                ("connection", "close"),
                *self.headers,
            )
        ]

    def body(self) -> bytes:
        """The JSON body."""
        return error_body(self.status, self.message)

    def to_bytes(self, *, with_body: bool = True) -> bytes:
        """The whole HTTP/1.1 response; a HEAD request gets no body."""
        body = self.body()
        lines = [f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}".encode()]
        lines += [name + b": " + value for name, value in self.asgi_headers()]
        lines.append(b"content-length: %d" % len(body))
        return b"\r\n".join([*lines, b"", body if with_body else b""])
