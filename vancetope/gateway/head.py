"""The head of a connection's first request: read with a limit, parsed strictly.

h11 does the grammar.  Added to it is what a lenient parser lets two readers of the
same bytes disagree about: bare line ends, folded headers, a body of two lengths.
"""

import re
from typing import Final

import attrs
import h11
import trio

from vancetope.gateway.refusal import Refusal

_BARE_LINE_END: Final = re.compile(rb"(?<!\r)\n|\r(?!\n)")
_FOLDED: Final = re.compile(rb"\r\n[ \t]")
_HEAD_END: Final = b"\r\n\r\n"
_CHUNK: Final = 65536
#: Headers of which a second one would let two readers choose differently.
_SINGLE: Final = ("host", "origin", "content-length", "transfer-encoding")


@attrs.frozen(kw_only=True)
class RequestHead:
    """Request line and headers.

    Attributes:
        raw: the bytes of the head, the empty line included.
        rest: what arrived after it in the same read.
        headers: name (lower case) and value, in order.
    """

    method: str
    target: str
    version: str
    headers: tuple[tuple[str, str], ...]
    raw: bytes
    rest: bytes

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """What follows the first `?`, still percent-encoded; `""` without one."""
        return self.target.partition("?")[2]

    def values(self, name: str) -> list[str]:
        """All values of a header, `name` in lower case."""
        return [value for key, value in self.headers if key == name]

    def tokens(self, name: str) -> set[str]:
        """The members of a comma-separated header, in lower case."""
        return {
            token.strip().lower()
            for value in self.values(name)
            for token in value.split(",")
        }


async def read_head(
    stream: trio.abc.ReceiveStream, *, limit: int
) -> RequestHead | None:
    """Read up to the end of the first request's head.

    Returns None when the peer leaves before that.  The caller sets the deadline.

    Raises:
        Refusal: the bytes are not a request we take, or the head is over `limit`.
    """
    parser = HeadParser(limit=limit)
    while True:
        data = await stream.receive_some(_CHUNK)
        if not data:
            return None
        head = parser.feed(bytes(data))
        if head is not None:
            return head


@attrs.define(kw_only=True)
class HeadParser:
    """Takes a request head in pieces of any size.  Sans I/O."""

    limit: int
    _seen: bytearray = attrs.field(factory=bytearray)
    _parser: h11.Connection = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._parser = h11.Connection(h11.SERVER, max_incomplete_event_size=self.limit)

    def feed(self, data: bytes) -> RequestHead | None:
        """Add bytes; the head, once it is complete.

        Raises:
            Refusal: as `read_head`.
        """
        if not data:
            return None  # h11 would take it for the end of the stream
        self._seen += data
        try:
            self._parser.receive_data(data)
            event = self._parser.next_event()
        except h11.RemoteProtocolError as error:
            status = error.error_status_hint
            raise Refusal(status, _readable(status, error)) from None
        if not isinstance(event, h11.Request):
            return None
        return self._finish(event)

    def _finish(self, request: h11.Request) -> RequestHead:
        end = self._seen.find(_HEAD_END)
        raw = bytes(self._seen if end < 0 else self._seen[: end + len(_HEAD_END)])
        if len(raw) > self.limit:
            raise Refusal(431, f"the request head is over {self.limit} bytes")
        if end < 0 or _BARE_LINE_END.search(raw):
            raise Refusal(400, "lines of a request end with CR LF")
        if _FOLDED.search(raw):
            raise Refusal(400, "folded headers are not accepted")
        head = RequestHead(
            method=request.method.decode("ascii"),
            target=request.target.decode("ascii"),
            version=request.http_version.decode("ascii"),
            headers=tuple(
                (name.decode("ascii"), value.decode("latin-1"))
                for name, value in request.headers
            ),
            raw=raw,
            rest=bytes(self._seen[len(raw) :]),
        )
        _check(head)
        return head


def _readable(status: int, error: h11.RemoteProtocolError) -> str:
    if status == 431:
        return "the request head is too big"
    return f"not a valid HTTP/1.1 request: {error}"


def _check(head: RequestHead) -> None:
    if head.version not in {"1.0", "1.1"}:
        raise Refusal(505, "HTTP/1.1 is the version spoken here")
    for name in _SINGLE:
        if len(head.values(name)) > 1:
            raise Refusal(400, f"more than one {name} header")
    if head.values("content-length") and head.values("transfer-encoding"):
        raise Refusal(400, "content-length and transfer-encoding exclude each other")
    if not head.target.startswith("/") and head.target != "*":
        raise Refusal(400, "the request target must be a path")
