"""The tool registry: what has a name, where it may run, and who may offer it.

Everything here is pure.  The files are read by `vancetope.config`; this module only
knows the merged entries and what clients say they bring (seed 000 sections 3 and 5).
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

import attrs

from vancetope.model.json import JsonObject
from vancetope.model.tool import Effect, Location, ToolSpec, ToolType

#: MCP's own rule for tool names; `@` is left out, so that an address is unambiguous.
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}\Z")
#: How alike (0 to 1) a name must be to be suggested.
_ALIKE: Final = 0.6


@attrs.frozen(kw_only=True)
class Offer:
    """One tool a connected client brings.

    Attributes:
        effect_proposal: the client's word; the registry decides (PROTOCOL section 3).
        digest: the client's hash of what it will run, or None.
    """

    name: str
    type: ToolType | None = None
    mcp_server: str | None = None
    description: str = ""
    input_schema: JsonObject | None = None
    effect_proposal: Effect | None = None
    digest: str | None = None


@attrs.frozen(kw_only=True)
class RememberedOffer:
    """What the store kept of an offer whose client may be away.

    Attributes:
        client: key of the client that offered it last.
        seen_at: when, UTC epoch milliseconds.
    """

    name: str
    type: ToolType | None = None
    mcp_server: str | None = None
    description: str = ""
    input_schema: JsonObject | None = None
    client: str | None = None
    seen_at: int | None = None


@attrs.frozen
class Address:
    """A tool as a task names it: `tool`, or `tool@client` for one client's."""

    tool: str
    client: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read `tool` or `tool@client`.

        Raises:
            ValueError: the tool's name is malformed, or nothing follows the `@`.
        """
        tool, at, client = text.partition("@")
        if not is_tool_name(tool):
            msg = f"{tool!r:.80} is not a tool name (letters, digits, _ . -)"
            raise ValueError(msg)
        if at and not client:
            msg = f"{text!r:.80} names no client after the @"
            raise ValueError(msg)
        return cls(tool, client or None)

    def __str__(self) -> str:
        """The text `parse` reads."""
        return self.tool if self.client is None else f"{self.tool}@{self.client}"


def _frozen_copy(specs: Mapping[str, ToolSpec]) -> Mapping[str, ToolSpec]:
    return MappingProxyType(dict(specs))


@attrs.frozen
class Registry:
    """The entries of all `tools.yaml` files, merged, by name."""

    specs: Mapping[str, ToolSpec] = attrs.field(converter=_frozen_copy)

    def get(self, name: str) -> ToolSpec | None:
        """The entry of that name, or None."""
        return self.specs.get(name)

    def known(self, name: str) -> bool:
        """Whether the registry has an entry of that name."""
        return name in self.specs

    def server_tools(self) -> list[str]:
        """Names of the tools that the Brain's side has, sorted."""
        return sorted(name for name, spec in self.specs.items() if spec.on_server)


def is_tool_name(name: str) -> bool:
    """Whether a tool may be called this."""
    return _NAME.match(name) is not None


def resolve(
    address: Address,
    registry: Registry,
    offer: Offer | None = None,
    remembered: RememberedOffer | None = None,
) -> ToolSpec | None:
    """The entry an address stands for, or None for a tool nobody ever knew.

    A registry entry wins.  What only a client offers, now or earlier, is a client
    tool whose repetition is not safe (`once`), whatever the client proposes.
    """
    entry = registry.get(address.tool)
    if entry is not None:
        return entry
    brought = offer or remembered
    if brought is None:
        return None
    return ToolSpec(
        name=address.tool,
        location=Location.CLIENT,
        type=brought.type,
        description=brought.description,
        effect=Effect.ONCE,
        mcp_server=brought.mcp_server,
        input_schema=brought.input_schema,
        source="offer" if offer is not None else "remembered offer",
    )


def accept_offers(
    registry: Registry, offers: Iterable[Offer]
) -> tuple[dict[str, Offer], list[tuple[str, str]]]:
    """Sort a client's offers into accepted ones by name and `(name, reason)` refused.

    The server's names are the server's (DESIGN section 5, Names).  Of two offers of
    one name the last counts.
    """
    accepted: dict[str, Offer] = {}
    refused: dict[str, str] = {}
    for offer in offers:
        spec = registry.get(offer.name)
        if not is_tool_name(offer.name):
            refused[offer.name] = "not a tool name (letters, digits, _ . -)"
        elif spec is not None and not spec.on_client:
            refused[offer.name] = f"a server tool ({spec.source}); rename the client's"
        else:
            accepted[offer.name] = offer
    return accepted, list(refused.items())


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that was probably meant, or None when none is alike."""
    found = difflib.get_close_matches(name, sorted(names), n=1, cutoff=_ALIKE)
    return found[0] if found else None
