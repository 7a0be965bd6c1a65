"""The query string of the connection URL."""

from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vance_sdk.wire.errors import ProtocolError
from vance_sdk.wire.params import ConnectionParams, is_client_name, parse_params


@pytest.mark.requirement("003-2.1a-profile-default")
def test_the_profile_is_web_unless_told() -> None:
    assert parse_params("") == ConnectionParams(profile="web", name=None)
    assert parse_params(b"name=desk") == ConnectionParams(profile="web", name="desk")


@pytest.mark.requirement("003-2.1a-profile-open-string")
@pytest.mark.parametrize(
    "profile", ["foot", "web", "mobile", "daemon", "default", "ci-bot", "a", "a" * 32]
)
def test_a_profile_is_an_open_string(profile: str) -> None:
    assert parse_params(f"profile={profile}").profile == profile


@pytest.mark.requirement("003-2.1a-profile-shape")
@pytest.mark.parametrize(
    "query",
    [
        "profile=",
        "profile",
        "profile=Web",
        "profile=1web",
        "profile=-web",
        "profile=we%20b",
        "profile=web%0A",
        "profile=%C3%A4",
        "profile=" + "a" * 33,
        "profile=web&profile=web",
    ],
)
def test_a_profile_of_another_shape_is_refused(query: str) -> None:
    with pytest.raises(ProtocolError, match=r"\$query\.profile") as caught:
        parse_params(query)

    assert caught.value.code == "bad_message"


@pytest.mark.requirement("003-2.1a-name-shape")
@pytest.mark.parametrize(
    "query",
    [
        "name=",
        "name=a.b",
        "name=a+b",
        "name=desk%0A",
        "name=%D0%B0",
        "name=" + "a" * 65,
        "name=a&name=b",
    ],
)
def test_a_name_of_another_shape_is_refused(query: str) -> None:
    with pytest.raises(ProtocolError, match=r"\$query\.name"):
        parse_params(query)


def test_a_name_may_be_64_characters_of_either_case() -> None:
    name = "aB9_-" + "x" * 59

    assert parse_params(f"profile=foot&name={name}").name == name
    assert is_client_name(name)


@pytest.mark.parametrize(
    "query",
    ["profile=%FF", b"profile=\xff", "&".join(["a=1"] * 1000)],
    ids=["bad UTF-8", "bad bytes", "too many"],
)
def test_a_query_that_cannot_be_read_is_refused(query: str | bytes) -> None:
    with pytest.raises(ProtocolError, match="query string"):
        parse_params(query)


def test_parameters_the_protocol_does_not_know_are_ignored() -> None:
    assert parse_params("utm=1&profile=foot") == ConnectionParams(profile="foot")


@given(st.text(max_size=70), st.text(max_size=70))
def test_any_pair_of_values_is_taken_as_it_is_or_refused(
    profile: str, name: str
) -> None:
    query = urlencode({"profile": profile, "name": name})
    try:
        params = parse_params(query)
    except ProtocolError:
        return

    assert params == ConnectionParams(profile=profile, name=name)
