"""Who may call: the `Host` and `Origin` allow-lists, loopback included.

A web page in the owner's browser can reach a loopback port, by a plain cross-origin
request or by a name of its own that it points at 127.0.0.1 (DNS rebinding).  The
first carries a foreign `Origin`, the second a foreign `Host`.
"""

import ipaddress
import re
from collections.abc import Sequence
from typing import Final

import attrs

from vancetope.gateway.refusal import Refusal

LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")

_AUTHORITY: Final = re.compile(
    r"(?P<host>\[[0-9a-f:.]+\]|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*)(?::(?P<port>[0-9]{1,5}))?"
)
_HTTP_PORT: Final = 80


def parse_authority(value: str) -> tuple[str, int | None] | None:
    """Split `host[:port]`; None for anything else (user info, paths, empty parts).

    The host comes back in lower case, an IPv6 address in brackets and in its
    shortest form, so that two spellings of one address are equal.
    """
    match = _AUTHORITY.fullmatch(value.lower())
    if match is None:
        return None
    host = match["host"]
    if host.startswith("["):
        try:
            host = f"[{ipaddress.IPv6Address(host[1:-1]).compressed}]"
        except ValueError:
            return None
    return host, None if match["port"] is None else int(match["port"])


def host_name(host: str) -> str:
    """A bind address as it stands in a URL: IPv6 addresses get brackets."""
    return f"[{host}]" if ":" in host else host.lower()


@attrs.frozen(kw_only=True)
class CallerPolicy:
    """The allow-lists of one bound port.

    Attributes:
        hosts: `(name, port)`; a `Host` without a port is looked up under None.
        origins: whole origins, lower case.
    """

    hosts: frozenset[tuple[str, int | None]]
    origins: frozenset[str]

    @classmethod
    def build(
        cls,
        *,
        bound: Sequence[str],
        port: int,
        hosts: Sequence[str] = (),
        origins: Sequence[str] = (),
    ) -> "CallerPolicy":
        """The policy of a listener bound to `port` at each of `bound`.

        Raises:
            ValueError: an entry of `hosts` or `origins` is not in its form.
        """
        allowed: set[tuple[str, int | None]] = set()
        for name in (*LOOPBACK_NAMES, *_names(bound), *hosts):
            authority = parse_authority(name)
            if authority is None:
                message = f"allowed host {name!r} is not of the form name or name:port"
                raise ValueError(message)
            host, own_port = authority
            allowed |= (
                {(host, None), (host, port)} if own_port is None else {(host, own_port)}
            )
        named = {
            _origin(host, number) for host, number in allowed if number is not None
        }
        named |= {_configured_origin(origin) for origin in origins}
        return cls(hosts=frozenset(allowed), origins=frozenset(named))

    def check(self, hosts: Sequence[str], origins: Sequence[str]) -> None:
        """Let a request through, given all its `Host` and `Origin` values.

        Raises:
            Refusal: 400 without exactly one `Host`, 421 for a foreign one, 403 for a
                foreign `Origin` (`null` is foreign).
        """
        if len(hosts) != 1:
            raise Refusal(400, "a request has exactly one Host header")
        authority = parse_authority(hosts[0])
        if authority is None or authority not in self.hosts:
            raise Refusal(421, "this Host is not served here (gateway.allowed_hosts)")
        for origin in origins:
            if origin.lower() not in self.origins:
                raise Refusal(
                    403, "this Origin is not allowed (gateway.allowed_origins)"
                )


def _names(bound: Sequence[str]) -> list[str]:
    """The addresses bound, as names; a wildcard is one that nobody calls by."""
    return [host_name(host) for host in bound if not is_wildcard(host)]


def is_wildcard(host: str) -> bool:
    """Whether it binds every address of a family, and so is none to call."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return not host


def _origin(host: str, port: int) -> str:
    return f"http://{host}" if port == _HTTP_PORT else f"http://{host}:{port}"


def _configured_origin(origin: str) -> str:
    scheme, separator, authority = origin.lower().partition("://")
    if scheme.isalpha() and separator and parse_authority(authority):
        return f"{scheme}://{authority}"
    message = f"allowed origin {origin!r} is not of the form scheme://host[:port]"
    raise ValueError(message)
