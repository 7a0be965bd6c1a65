"""The request head, without a socket: `HeadParser` takes pieces of any size."""

import contextlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.gateway.edge_kit import upgrade
from vancetope.gateway.head import HeadParser, RequestHead
from vancetope.gateway.refusal import Refusal
from vancetope.gateway.upgrade import check_upgrade, is_upgrade

LIMIT = 4096


def parse(data: bytes) -> RequestHead | None:
    return HeadParser(limit=LIMIT).feed(data)


def parsed(data: str) -> RequestHead:
    head = parse(data.encode())
    assert head is not None
    return head


def refused(data: bytes) -> int:
    with pytest.raises(Refusal) as caught:
        parse(data)
    return caught.value.status


def test_a_head_is_split_into_its_parts_and_what_follows_is_kept() -> None:
    head = parse(b"GET /a?b=c?d HTTP/1.1\r\nHost: h\r\nX-Y:  z \r\n\r\nrest")

    assert head is not None
    assert (head.method, head.path, head.query) == ("GET", "/a", "b=c?d")
    assert head.headers == (("host", "h"), ("x-y", "z"))
    assert head.raw.endswith(b"\r\n\r\n")
    assert head.rest == b"rest"


@given(st.lists(st.integers(0, 60), max_size=8))
def test_where_a_head_is_cut_into_packets_makes_no_difference(cuts: list[int]) -> None:
    data = b"GET /api/ws?name=a HTTP/1.1\r\nHost: localhost\r\nA: b\r\n\r\n"
    edges = [0, *sorted(cuts), len(data)]
    parser = HeadParser(limit=LIMIT)

    heads = [parser.feed(data[a:b]) for a, b in itertools.pairwise(edges)]

    assert [head for head in heads if head is not None][:1] == [parse(data)]


@given(st.binary(max_size=300))
def test_any_bytes_are_a_head_or_a_refusal_or_not_yet_a_head(data: bytes) -> None:
    for candidate in (data, b"GET / HTTP/1.1\r\n" + data + b"\r\n\r\n"):
        with contextlib.suppress(Refusal):
            head = parse(candidate)
            assert head is None or head.raw + head.rest == candidate


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nOrigin: a\r\nOrigin: b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n folded\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n\tfolded\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: \x00\r\n\r\n", 400),
        (b"GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", 400),
        (b"GET / HTTP/1.1\nHost: a\n\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\nHost: a\n\nPOST / HTTP/1.1\r\nHost: b\r\n\r\n", 400),
        (b"GET /  HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET http://evil/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET //evil HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        (b"PRI * HTTP/2.0\r\n\r\n", 505),
        (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        (b"\x16\x03\x01\x02\x00", 400),
        (b"\r\n\r\n", 400),
    ],
)  # fmt: skip
def test_a_malformed_head_is_refused(data: bytes, status: int) -> None:
    assert refused(data) == status


def test_a_head_over_the_limit_is_refused_whole_or_in_pieces() -> None:
    endless = b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * LIMIT

    assert refused(endless + b"\r\n\r\n") == 431
    parser = HeadParser(limit=LIMIT)
    with pytest.raises(Refusal, match="431"):
        list(map(parser.feed, (endless[i : i + 9] for i in range(0, len(endless), 9))))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"path": "/api/ws?profile=web"}, True),
        ({"Upgrade": "WebSocket"}, True),
        ({"Upgrade": "h2c, websocket"}, True),
        ({"path": "/api/ws/"}, False),
        ({"path": "/api/wsx"}, False),
        ({"Upgrade": None}, False),
        ({"Upgrade": "h2c"}, False),
    ],
)
def test_what_is_an_upgrade(changes: dict[str, str], expected: bool) -> None:
    assert is_upgrade(parsed(upgrade(**changes))) is expected


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"Connection": "keep-alive"}, 400),
        ({"Sec_WebSocket_Version": "8"}, 426),
        ({"Sec_WebSocket_Version": None}, 426),
        ({"Sec_WebSocket_Key": None}, 400),
        ({"Sec_WebSocket_Key": "dG9vIHNob3J0"}, 400),
        ({"Sec_WebSocket_Key": "###"}, 400),
        ({"Content_Length": "3"}, 400),
        ({"Transfer_Encoding": "chunked"}, 400),
    ],
)
def test_an_upgrade_against_the_rfc_is_refused(
    changes: dict[str, str], status: int
) -> None:
    with pytest.raises(Refusal) as caught:
        check_upgrade(parsed(upgrade(**changes)))

    assert caught.value.status == status


def test_an_upgrade_by_the_rfc_passes() -> None:
    check_upgrade(parsed(upgrade(Connection="keep-alive, Upgrade", Content_Length="0")))
