"""Names, addresses, and who may offer what."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.model.tool import Effect, Location, ToolSpec, ToolType
from vancetope.tools.registry import (
    Address,
    Offer,
    Registry,
    RememberedOffer,
    accept_offers,
    is_tool_name,
    nearest,
    resolve,
)

SERVER = ToolSpec(name="web_search", location=Location.SERVER)
CLIENT = ToolSpec(
    name="read_local_file", location=Location.CLIENT, effect=Effect.READ, source="home"
)
BOTH = ToolSpec(name="google_drive_search", location=Location.BOTH)
REGISTRY = Registry({spec.name: spec for spec in (SERVER, CLIENT, BOTH)})


@pytest.mark.requirement("000-5-server-tools-always-present")
def test_the_server_has_its_own_and_the_shared_tools() -> None:
    assert REGISTRY.server_tools() == ["google_drive_search", "web_search"]


def test_a_registry_does_not_change_with_the_mapping_it_was_made_from() -> None:
    specs = {"web_search": SERVER}
    registry = Registry(specs)
    specs.clear()
    assert registry.known("web_search")
    assert registry.get("gone") is None
    assert not registry.known("gone")


@pytest.mark.parametrize(
    ("text", "tool", "client"),
    [
        ("read_local_file", "read_local_file", None),
        ("read_local_file@laptop", "read_local_file", "laptop"),
        ("obsidian__read.note-2@cl_01@home", "obsidian__read.note-2", "cl_01@home"),
    ],
)
def test_an_address_names_a_tool_and_perhaps_a_client(
    text: str, tool: str, client: str | None
) -> None:
    address = Address.parse(text)
    assert (address.tool, address.client, str(address)) == (tool, client, text)


@pytest.mark.parametrize("text", ["", "@laptop", "tool@", "a tool", "tool\n", "a/b"])
def test_a_malformed_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a tool name|names no client"):
        Address.parse(text)


@given(st.text())
def test_reading_an_address_gives_it_back_or_refuses(text: str) -> None:
    try:
        address = Address.parse(text)
    except ValueError:
        return
    assert str(address) == text
    assert is_tool_name(address.tool)


def test_a_registry_entry_wins_over_an_offer() -> None:
    offer = Offer(name="read_local_file", effect_proposal=Effect.ONCE)
    assert resolve(Address("read_local_file"), REGISTRY, offer) is CLIENT


@pytest.mark.requirement("000-5-client-tools-are-merged")
def test_an_unregistered_offer_is_a_client_tool_that_is_not_safe_to_repeat() -> None:
    offer = Offer(
        name="git_status",
        type=ToolType.MCP,
        mcp_server="git",
        description="Shows the state",
        input_schema={"type": "object"},
        effect_proposal=Effect.READ,
    )
    assert resolve(Address("git_status", "laptop"), REGISTRY, offer) == ToolSpec(
        name="git_status",
        location=Location.CLIENT,
        type=ToolType.MCP,
        mcp_server="git",
        description="Shows the state",
        input_schema={"type": "object"},
        effect=Effect.ONCE,
        source="offer",
    )


def test_a_tool_offered_once_before_stays_known() -> None:
    remembered = RememberedOffer(name="git_status", type=ToolType.NATIVE)
    spec = resolve(Address("git_status"), REGISTRY, None, remembered)
    assert spec is not None
    assert (spec.location, spec.type) == (Location.CLIENT, ToolType.NATIVE)
    assert spec.source == "remembered offer"


def test_a_tool_nobody_ever_knew_has_no_entry() -> None:
    assert resolve(Address("nothing"), REGISTRY) is None


def test_a_client_may_not_claim_a_server_tool() -> None:
    offers = [Offer(name=name) for name in ("web_search", "google_drive_search")]
    accepted, refused = accept_offers(REGISTRY, offers)
    assert list(accepted) == ["google_drive_search"]
    [(name, reason)] = refused
    assert name == "web_search"
    assert "server tool" in reason


def test_of_two_offers_of_one_name_the_last_counts() -> None:
    first, last = Offer(name="git"), Offer(name="git", description="newer")
    accepted, refused = accept_offers(REGISTRY, [first, last])
    assert accepted == {"git": last}
    assert refused == []


@pytest.mark.parametrize("name", ["", "a b", "tool@laptop", "x" * 129, "tool\n"])
def test_a_malformed_name_is_refused_and_the_rest_accepted(name: str) -> None:
    accepted, refused = accept_offers(REGISTRY, [Offer(name=name), Offer(name="git")])
    assert list(accepted) == ["git"]
    assert [refusal[0] for refusal in refused] == [name]


def test_the_nearest_name_is_suggested_and_nothing_far_off() -> None:
    names = ["read_local_file", "write_local_file", "now"]
    assert nearest("read_locl_file", names) == "read_local_file"
    assert nearest("zzz", names) is None
