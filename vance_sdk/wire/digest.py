"""Fingerprints that both sides compute alike (PROTOCOL.md sections 2 and 3)."""

import hashlib
from collections.abc import Mapping

import orjson

from vance_sdk.wire.json import Json
from vance_sdk.wire.messages.handshake import ClientTool


def canonical(value: Json) -> bytes:
    """Return the canonical JSON of a value: UTF-8, sorted keys, no spaces.

    Raises:
        TypeError: A value that JSON cannot carry.
    """
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def args_digest(args: Mapping[str, Json]) -> str:
    """Return the SHA-256 of a call's arguments, in hexadecimal.

    Raises:
        TypeError: A value that JSON cannot carry.
    """
    return hashlib.sha256(canonical(dict(args))).hexdigest()


def tool_digest(tool: ClientTool) -> str:
    """Return the SHA-256 of a tool's whole definition, in hexadecimal.

    Fields that are absent count as ``null``; the digest itself does not count.

    Raises:
        TypeError: An input schema that JSON cannot carry.
    """
    definition: dict[str, Json] = {
        "name": tool.name,
        "type": tool.type,
        "description": tool.description,
        "mcp_server": tool.mcp_server,
        "input_schema": tool.input_schema,
        "effect": tool.effect,
    }
    return hashlib.sha256(canonical(definition)).hexdigest()
