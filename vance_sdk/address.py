"""Where a Brain is: any of its URLs to the parts a connection needs."""

from typing import Final
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit

import attrs

from vance_sdk.errors import BadAddress
from vance_sdk.wire.params import DEFAULT_PROFILE, is_client_name, is_profile

PATH: Final = "/api/ws"

_TLS: Final = {"http": False, "ws": False, "https": True, "wss": True}
_PORTS: Final = {False: 80, True: 443}


@attrs.frozen(kw_only=True)
class Address:
    """A WebSocket's address.

    Attributes:
        host: A name or an IP address, without brackets.
        resource: Path and query.
    """

    host: str
    port: int
    tls: bool
    resource: str

    @property
    def authority(self) -> str:
        """The ``Host`` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.tls] else f"{host}:{self.port}"

    def __str__(self) -> str:
        scheme = "wss" if self.tls else "ws"
        return f"{scheme}://{self.authority}{self.resource}"


def parse_address(
    url: str, *, profile: str | None = None, name: str | None = None
) -> Address:
    """Read ``http(s)://host[:port]`` or ``ws(s)://host[:port]/api/ws`` (seed 2.1).

    A path that does not end in ``/api/ws`` is a prefix of it. ``profile`` and
    ``name`` overrule those in the URL's query; without any the profile is ``web``.

    Raises:
        BadAddress: Another scheme, no host, a bad port, a user or any other query
            field (credentials do not belong into URLs), or a profile or name of the
            wrong shape.
    """
    parts = _split(url)
    given = _query_of(parts)
    profile = given.get("profile", DEFAULT_PROFILE) if profile is None else profile
    name = given.get("name") if name is None else name
    if not is_profile(profile):
        raise BadAddress(f"not the shape of a profile: {profile!r}")
    if name is not None and not is_client_name(name):
        raise BadAddress(f"not the shape of a client name: {name!r}")
    query = {"profile": profile} if name is None else {"profile": profile, "name": name}
    tls = _TLS[parts.scheme]
    path = quote(parts.path.rstrip("/"), safe="/%:@!$&'()*+,;=~-._")
    if not path.endswith(PATH):
        path += PATH
    return Address(
        host=parts.hostname or "",
        port=parts.port or _PORTS[tls],
        tls=tls,
        resource=f"{path}?{urlencode(query)}",
    )


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        # Not the URL itself: a badly placed token would stand in every log.
        raise BadAddress(f"not a URL: {error}") from None
    if parts.scheme not in _TLS:
        raise BadAddress("a Brain's URL begins with http, https, ws or wss")
    if not parts.hostname or port == 0:
        raise BadAddress("a Brain's URL names a host, and a port above 0 if any")
    if parts.username is not None or parts.password is not None:
        raise BadAddress("a Brain's URL holds no user and no password")
    return parts


def _query_of(parts: SplitResult) -> dict[str, str]:
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    if given.keys() - {"profile", "name"}:
        raise BadAddress("a Brain's URL has no query but profile and name")
    return given
