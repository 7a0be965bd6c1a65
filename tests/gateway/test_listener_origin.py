"""The allow-lists of `Host` and `Origin`, without a socket."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.gateway.origin import CallerPolicy, parse_authority
from vancetope.gateway.refusal import Refusal

PORT = 7717
POLICY = CallerPolicy.build(
    bound=["192.168.1.5"],
    port=PORT,
    hosts=["nas.local", "proxy.example:443"],
    origins=["https://proxy.example"],
)


def status(hosts: Sequence[str], origins: Sequence[str] = ()) -> int:
    try:
        POLICY.check(hosts, origins)
    except Refusal as refusal:
        return refusal.status
    return 200


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1:7717",
        "localhost",
        "LocalHost:7717",
        "[::1]",
        "[::1]:7717",
        "[0:0:0:0:0:0:0:1]:7717",
        "192.168.1.5:7717",
        "NAS.local",
        "nas.local:7717",
        "proxy.example:443",
    ],
)
def test_a_host_of_the_list_passes_in_any_case(host: str) -> None:
    assert status([host]) == 200


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:7717",
        "localhost.evil.example",
        "localhost.",
        "evil-localhost",
        "xlocalhost:7717",
        "127.0.0.1.evil.example",
        "127.0.0.10",
        "127.1",
        "0.0.0.0:7717",
        "2130706433",
        "localhost:80",
        "localhost:77170",
        "localhost:",
        "localhost:7717:7717",
        "localhost:+7717",
        "user@localhost",
        "localhost@evil.example",
        "localhost/evil.example",
        "localhost, evil.example",
        "localhost evil.example",
        "[::1",
        "::1",
        "[::2]:7717",
        "[::1]evil:7717",
        "[::1%lo]:7717",
        "proxy.example",
        "nas.local:443",
        "loc\u0430lhost",
    ],
)
def test_any_other_host_is_misdirected(host: str) -> None:
    assert status([host]) == 421


def test_a_request_has_exactly_one_host() -> None:
    assert status([]) == 400
    assert status(["localhost", "localhost"]) == 400


@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost:7717",
        "http://127.0.0.1:7717",
        "http://[::1]:7717",
        "http://192.168.1.5:7717",
        "http://nas.local:7717",
        "https://proxy.example",
        "HTTP://LOCALHOST:7717",
    ],
)
def test_an_origin_of_ours_passes(origin: str) -> None:
    assert status(["localhost"], [origin]) == 200


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "null",
        "http://localhost",
        "http://localhost:8080",
        "https://localhost:7717",
        "ws://localhost:7717",
        "http://localhost:7717.evil.example",
        "http://localhost.evil.example:7717",
        "http://evil.example/http://localhost:7717",
        "http://user@localhost:7717",
        "http://localhost:7717@evil.example",
        "http://localhost:7717/",
        "http://localhost:7717 ",
        "http://localhost:07717",
        "http://proxy.example",
        "https://proxy.example:443",
        "https://sub.proxy.example",
        "file://",
        "chrome-extension://abcdef",
        "http://loc\u0430lhost:7717",
    ],
)
def test_any_other_origin_is_forbidden(origin: str) -> None:
    assert status(["localhost"], [origin]) == 403


def test_one_foreign_origin_among_ours_is_forbidden() -> None:
    assert status(["localhost"], ["http://localhost:7717", "null"]) == 403


def test_on_port_80_an_origin_has_no_port() -> None:
    policy = CallerPolicy.build(bound=["127.0.0.1"], port=80)

    policy.check(["localhost"], ["http://localhost"])
    with pytest.raises(Refusal, match="403"):
        policy.check(["localhost"], ["http://localhost:80"])


def test_a_wildcard_bind_admits_no_further_name() -> None:
    policy = CallerPolicy.build(bound=["0.0.0.0", "::"], port=PORT)

    policy.check(["localhost:7717"], [])
    for host in ("0.0.0.0:7717", "[::]:7717", "192.168.1.5:7717"):
        with pytest.raises(Refusal, match="421"):
            policy.check([host], [])


@pytest.mark.parametrize("entry", ["*", "http://nas", "nas/", "a b", "nas:port"])
def test_a_configured_host_must_be_a_name(entry: str) -> None:
    with pytest.raises(ValueError, match="allowed host"):
        CallerPolicy.build(bound=["127.0.0.1"], port=PORT, hosts=[entry])


@pytest.mark.parametrize("entry", ["*", "nas", "https://*", "https://nas/", "null"])
def test_a_configured_origin_must_be_an_origin(entry: str) -> None:
    with pytest.raises(ValueError, match="allowed origin"):
        CallerPolicy.build(bound=["127.0.0.1"], port=PORT, origins=[entry])


@given(st.text(max_size=30))
def test_any_text_is_an_authority_or_none(text: str) -> None:
    parsed = parse_authority(text)

    assert parsed is None or parsed[0]
