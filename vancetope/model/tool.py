"""A tool as the registry knows it: seed 000 section 3 plus DESIGN section 7."""

from enum import StrEnum

import attrs

from vancetope.model.json import JsonObject


class Location(StrEnum):
    """Where a tool can run; the two `prefer_*` shorthands become `both` + prefer."""

    SERVER = "server"
    CLIENT = "client"
    BOTH = "both"


class Prefer(StrEnum):
    """Which side a `both` tool runs on when both can."""

    SERVER = "server"
    CLIENT = "client"


class ToolType(StrEnum):
    """What stands behind the name."""

    NATIVE = "native"
    MCP = "mcp"
    BUILT_IN = "built_in"


class Effect(StrEnum):
    """What a repetition would do (PROTOCOL section 3); unknown means `once`."""

    READ = "read"
    IDEMPOTENT = "idempotent"
    ONCE = "once"


class Strategy(StrEnum):
    """What happens to a task whose client tool is away (seed 000 section 4)."""

    BLOCK = "block"
    SKIP = "skip"
    FALLBACK = "fallback"
    QUEUE = "queue"


class Target(StrEnum):
    """Where a task wants to run (seed 000 section 6)."""

    AUTO = "auto"
    SERVER = "server"
    CLIENT = "client"
    ANY = "any"


@attrs.frozen(kw_only=True)
class ToolSpec:
    """One entry of the registry."""

    name: str
    location: Location
    prefer: Prefer | None = None
    type: ToolType | None = None
    description: str = ""
    effect: Effect = Effect.ONCE
    mcp_server: str | None = None
    mcp_tool: str | None = None
    offline_strategy: Strategy | None = None
    fallback_tool: str | None = None
    on_unknown: str = "ask"
    verify_tool: str | None = None
    approval: str | None = None
    input_schema: JsonObject | None = None
    source: str = "bundled"

    @property
    def on_server(self) -> bool:
        """Whether the Brain's side has this tool at all."""
        return self.location is not Location.CLIENT

    @property
    def on_client(self) -> bool:
        """Whether a client may bring this tool."""
        return self.location is not Location.SERVER
