"""The query string of the connection URL (PROTOCOL.md section 1)."""

import re
from typing import Final
from urllib.parse import parse_qsl

import attrs

from vance_sdk.wire.errors import BAD_MESSAGE, ProtocolError

DEFAULT_PROFILE: Final = "web"

PROFILE_PATTERN: Final = r"^[a-z][a-z0-9_-]{0,31}$"
NAME_PATTERN: Final = r"^[a-zA-Z0-9_-]{1,64}$"

_PROFILE: Final = re.compile(PROFILE_PATTERN)
_NAME: Final = re.compile(NAME_PATTERN)
_MAX_FIELDS: Final = 32


def is_profile(text: str) -> bool:
    """Tell whether ``text`` has the shape of a profile."""
    # fullmatch, because `$` alone lets a trailing newline through.
    return _PROFILE.fullmatch(text) is not None


def is_client_name(text: str) -> bool:
    """Tell whether ``text`` has the shape of a client name."""
    return _NAME.fullmatch(text) is not None


@attrs.frozen(kw_only=True)
class ConnectionParams:
    """What a client says in the URL, before its first frame (seed 2.1a)."""

    profile: str = DEFAULT_PROFILE
    name: str | None = None


def parse_params(query: str | bytes) -> ConnectionParams:
    """Read ``profile`` and ``name`` from a query string without its ``?``.

    Parameters the protocol does not know are ignored.

    Raises:
        ProtocolError: A value that is empty, given twice or of the wrong shape, or
            a query string that is not percent-encoded UTF-8 text.
    """
    try:
        text = query.decode("ascii") if isinstance(query, bytes) else query
        fields = parse_qsl(
            text, keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS
        )
    except ValueError:
        message = "$query: expected a query string of percent-encoded UTF-8"
        raise ProtocolError(BAD_MESSAGE, message, "$query") from None
    profile = _single(fields, "profile")
    name = _single(fields, "name")
    if profile is not None and not is_profile(profile):
        raise _refusal("profile", f"text of the shape {PROFILE_PATTERN}")
    if name is not None and not is_client_name(name):
        raise _refusal("name", f"text of the shape {NAME_PATTERN}")
    return ConnectionParams(
        profile=DEFAULT_PROFILE if profile is None else profile, name=name
    )


def _single(fields: list[tuple[str, str]], key: str) -> str | None:
    values = [value for name, value in fields if name == key]
    if len(values) > 1:
        raise _refusal(key, "it at most once")
    return values[0] if values else None


def _refusal(key: str, expected: str) -> ProtocolError:
    path = f"$query.{key}"
    return ProtocolError(BAD_MESSAGE, f"{path}: expected {expected}", path)
