"""A Brain's URL, in any of its forms (seed 003, sections 2.1 and 2.1a)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vance_sdk.address import parse_address
from vance_sdk.errors import BadAddress
from vance_sdk.wire.params import parse_params


@pytest.mark.requirement("003-2.1-url")
@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:8765", "ws://127.0.0.1:8765/api/ws?profile=web"),
        ("https://brain.example.com/", "wss://brain.example.com/api/ws?profile=web"),
        (
            "wss://brain.example.com/api/ws",
            "wss://brain.example.com/api/ws?profile=web",
        ),
        (
            "ws://[::1]:80/api/ws?profile=foot&name=desk",
            "ws://[::1]/api/ws?profile=foot&name=desk",
        ),
        ("https://host:8443/vance", "wss://host:8443/vance/api/ws?profile=web"),
        ("http://host/a%20b/é", "ws://host/a%20b/%C3%A9/api/ws?profile=web"),
    ],
)
def test_every_form_of_the_url_leads_to_the_websocket(url: str, expected: str) -> None:
    assert str(parse_address(url)) == expected


def test_arguments_overrule_the_query() -> None:
    address = parse_address("ws://host/api/ws?profile=foot", profile="ci-bot", name="a")

    assert address.resource == "/api/ws?profile=ci-bot&name=a"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "brain.example.com",
        "ftp://host",
        "http://",
        "http://host:0",
        "http://host:99999",
        "http://[::1",
        "ws://user@host",
        "ws://user:secret@host",
        "ws://host/api/ws?token=secret",
        "ws://host/api/ws?profile=",
        "ws://host/api/ws?profile=Web",
        "ws://host/api/ws?name=a%20b",
    ],
)
def test_a_url_that_is_no_brains_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(BadAddress) as refused:
        parse_address(url)

    assert "secret" not in str(refused.value)


@given(
    st.from_regex(r"[a-z][a-z0-9_-]{0,31}", fullmatch=True),
    st.from_regex(r"[a-zA-Z0-9_-]{1,64}", fullmatch=True),
)
def test_the_brain_reads_what_was_written(profile: str, name: str) -> None:
    address = parse_address("http://host", profile=profile, name=name)

    params = parse_params(address.resource.partition("?")[2])

    assert (params.profile, params.name) == (profile, name)
