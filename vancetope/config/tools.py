"""`tools.yaml`: the tool registry of seed 000 section 3, read and checked."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

import attrs

from vancetope.config.fields import Fields, fields_at, suggestion
from vancetope.config.yamlio import Document, read_yaml
from vancetope.errors import ConfigError
from vancetope.model.json import Json
from vancetope.model.tool import (
    Effect,
    Location,
    Prefer,
    Strategy,
    ToolSpec,
    ToolType,
)

_KEYS: Final = (
    "name",
    "location",
    "prefer",
    "type",
    "mcp_server",
    "mcp_tool",
    "description",
    "offline_strategy",
    "fallback_tool",
    "effect",
    "approval",
    "on_unknown",
    "verify_tool",
)


class _Written(StrEnum):
    """The five locations a file may name (seed 000 section 3)."""

    SERVER = "server"
    CLIENT = "client"
    BOTH = "both"
    PREFER_SERVER = "prefer_server"
    PREFER_CLIENT = "prefer_client"


_MEANING: Final = {
    _Written.SERVER: (Location.SERVER, None),
    _Written.CLIENT: (Location.CLIENT, None),
    _Written.BOTH: (Location.BOTH, None),
    _Written.PREFER_SERVER: (Location.BOTH, Prefer.SERVER),
    _Written.PREFER_CLIENT: (Location.BOTH, Prefer.CLIENT),
}


@attrs.frozen(kw_only=True)
class _Entry:
    """A tool and where it was written."""

    spec: ToolSpec
    fields: Fields


def load_tools(bundled: Path, home_file: Path | None) -> dict[str, ToolSpec]:
    """The registry by tool name: the bundled file, then the home's over it.

    A home entry replaces the bundled one of its name whole.  A home file that does
    not exist is the same as none.

    Raises:
        ConfigError: the first thing that is wrong in either file.
    """
    tools, problems = read_tools(bundled, home_file)
    if problems:
        raise problems[0]
    return tools


def read_tools(
    bundled: Path, home_file: Path | None
) -> tuple[dict[str, ToolSpec], list[ConfigError]]:
    """The entries that are right, and everything that is wrong with the others."""
    problems: list[ConfigError] = []
    merged = _read_file(bundled, "bundled", problems)
    if home_file is not None and home_file.exists():
        merged |= _read_file(home_file, str(home_file), problems)
    for entry in merged.values():
        _check_references(entry, merged)
    problems.sort(key=lambda problem: (problem.file, problem.line or 0))
    return {name: entry.spec for name, entry in merged.items()}, problems


def _read_file(
    path: Path, source: str, problems: list[ConfigError]
) -> dict[str, _Entry]:
    try:
        document = read_yaml(path)
    except ConfigError as error:
        problems.append(error)
        return {}
    top = fields_at(document, (), document.data, problems)
    if top is None:
        return {}
    top.only(("tools",))
    listed = top.data.get("tools")
    if listed is None:
        return {}
    if not isinstance(listed, list):
        top.report(
            "tools",
            "must be a list",
            value=listed,
            fix="Begin every tool with `- name: ...`.",
        )
        return {}
    entries: dict[str, _Entry] = {}
    for number, item in enumerate(listed):
        entry = _read_entry(document, number, item, source, problems)
        if entry is None:
            continue
        first = entries.setdefault(entry.spec.name, entry)
        if first is not entry:
            line = document.line_of((*first.fields.place, "name"))
            entry.fields.report(
                "name",
                f"the tool stands twice, first in line {line}",
                value=entry.spec.name,
                fix="Remove one of the two entries.",
            )
    return entries


def _read_entry(
    document: Document,
    number: int,
    item: Json,
    source: str,
    problems: list[ConfigError],
) -> _Entry | None:
    place = ("tools", number)
    fields = fields_at(document, place, item, problems)
    if fields is None:
        if item is None:
            problems.append(
                document.problem(place, "is empty", fix="Remove it, or name a tool.")
            )
        return None
    before = len(problems)
    fields.only(_KEYS)
    for key in ("name", "location"):
        if not fields.has(key):
            fields.report(key, "is missing", fix=f"Add a line `{key}: ...`.")
    spec = _spec(fields, source)
    if spec is None or len(problems) > before:
        return None
    return _Entry(spec=spec, fields=fields)


def _spec(fields: Fields, source: str) -> ToolSpec | None:
    name = fields.tool("name")
    kind = fields.choice("type", ToolType)
    effect = fields.choice("effect", Effect)
    on_unknown = fields.one_of("on_unknown", ("ask", "verify", "fail"))
    placed = _placed(fields)
    mcp_server = fields.text("mcp_server")
    mcp_tool = fields.text("mcp_tool")
    fallback_tool = fields.tool("fallback_tool")
    verify_tool = fields.tool("verify_tool")
    approval = fields.one_of("approval", ("call", "result"))
    description = fields.text("description") or ""
    strategy = fields.choice("offline_strategy", Strategy)
    _check_mcp(fields, kind)
    if on_unknown == "verify" and not fields.has("verify_tool"):
        fields.report(
            "on_unknown",
            "asks for a verify_tool, and there is none",
            value="verify",
            fix="Add `verify_tool: NAME` of a tool that only reads.",
        )
    if name is None or placed is None:
        return None
    if kind is None and mcp_server is not None:
        kind = ToolType.MCP
    line = fields.document.line_of(fields.place)
    return ToolSpec(
        name=name,
        location=placed[0],
        prefer=placed[1],
        type=kind,
        description=description,
        effect=effect or Effect.ONCE,
        mcp_server=mcp_server,
        offline_strategy=strategy,
        on_unknown=on_unknown or "ask",
        source=source if source == "bundled" else f"{source}:{line}",
        mcp_tool=mcp_tool,
        fallback_tool=fallback_tool,
        verify_tool=verify_tool,
        approval=approval,
    )


def _placed(fields: Fields) -> tuple[Location, Prefer | None] | None:
    written = fields.choice("location", _Written)
    prefer = fields.choice("prefer", Prefer)
    if written is None:
        return None
    location, implied = _MEANING[written]
    if prefer is None:
        return location, implied
    if location is not Location.BOTH:
        fields.report(
            "prefer",
            f"has no meaning for a tool that is only on the {location}",
            value=prefer.value,
            fix="Remove it, or write `location: both`.",
        )
    elif implied is not None and implied is not prefer:
        fields.report(
            "prefer",
            f"contradicts `location: {written}`",
            value=prefer.value,
            fix="Write `location: both` and the prefer you mean.",
        )
    return location, prefer


def _check_mcp(fields: Fields, kind: ToolType | None) -> None:
    if fields.has("mcp_server"):
        if kind not in {None, ToolType.MCP}:
            fields.report(
                "type",
                "contradicts mcp_server",
                value=kind,
                fix="Write `type: mcp`, or remove mcp_server.",
            )
        return
    if kind is ToolType.MCP or fields.has("mcp_tool"):
        fields.report(
            "mcp_server",
            "is missing",
            fix="Add `mcp_server: NAME` as it stands in mcp.json.",
        )


def _check_references(entry: _Entry, tools: Mapping[str, _Entry]) -> None:
    spec, fields = entry.spec, entry.fields
    for key, name in (
        ("fallback_tool", spec.fallback_tool),
        ("verify_tool", spec.verify_tool),
    ):
        if name is None:
            continue
        others = set(tools) - {spec.name}
        if name == spec.name:
            fields.report(
                key, "is the tool itself", value=name, fix="Name another tool."
            )
        elif name not in tools:
            fields.report(key, "is no tool", value=name, fix=suggestion(name, others))
        elif key == "verify_tool" and tools[name].spec.effect is not Effect.READ:
            fields.report(
                key,
                f"must only read, but its effect is {tools[name].spec.effect}",
                value=name,
                fix="Name a tool with `effect: read`.",
            )
