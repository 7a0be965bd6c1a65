"""What stays the same over all connections of a client."""

import secrets
from collections.abc import Callable
from typing import Final, TypeAlias

import attrs

import vance_sdk
from vance_sdk.address import parse_address
from vance_sdk.awake import WallClock, wall_seconds
from vance_sdk.errors import ConnectionLost
from vance_sdk.reconnect import Uniform, system_uniform
from vance_sdk.transport import ABNORMAL, Connector
from vance_sdk.wire.messages import ClientInfo, SessionOpened

OnConnected: TypeAlias = Callable[[SessionOpened], None]
Url: TypeAlias = str | Callable[[], str | None]
"""A Brain's URL, or what tells it; ``None`` while there is no Brain."""
Token: TypeAlias = str | Callable[[], str]
"""A token, or what makes one."""

_ANY_URL: Final = "ws://localhost"


@attrs.frozen(kw_only=True)
class Settings:
    """What stays the same over all connections of a client.

    Attributes:
        url: Any of the Brain's URLs; a callable is asked anew for each attempt.
        token: A callable is asked again when the Brain refuses what it gave earlier.
        project_id: The project for a new session.
        reconnect_when_replaced: Come back even if a newer connection of the same
            client took over; two such clients would fight.
        on_connected: Called with each answer to a handshake; must not block or raise.
        connect: How to open a WebSocket; ``None``: over TCP and TLS.
        uniform: The randomness of waiting before another attempt.
    """

    url: Url
    token: Token = attrs.field(repr=False)
    client: ClientInfo
    profile: str | None = None
    name: str | None = None
    project_id: str | None = None
    reconnect_when_replaced: bool = False
    on_connected: OnConnected | None = None
    connect: Connector | None = None
    uniform: Uniform = system_uniform
    wall: WallClock = wall_seconds

    def check(self) -> None:
        """Look at what can be known before the first attempt.

        Raises:
            BadAddress: The URL, the profile or the name has the wrong shape.
        """
        url = self.url if isinstance(self.url, str) else _ANY_URL
        parse_address(url, profile=self.profile, name=self.name)

    def locate(self) -> str:
        """Return where to try next.

        Raises:
            ConnectionLost: There is no Brain now.
        """
        url = self.url if isinstance(self.url, str) else self.url()
        if url is None:
            raise ConnectionLost(ABNORMAL, "there is no Brain")
        return url


@attrs.define(eq=False)
class Credential:
    """The token in use, and whether another one may do better."""

    _source: Token
    _token: str | None = attrs.field(init=False, default=None, repr=False)
    _is_new: bool = attrs.field(init=False, default=True)

    def token(self) -> str:
        """Return the token for an attempt to connect."""
        self._is_new = self._token is None
        if self._token is None:
            source = self._source
            self._token = source if isinstance(source, str) else source()
        return self._token

    def worked(self) -> None:
        """Note that the Brain took the token."""
        self._is_new = False

    def renew(self) -> bool:
        """Give up a refused token; tell whether there will be another.

        There is none for one that was made for the refused attempt itself: the next
        would be refused as well.
        """
        if isinstance(self._source, str) or self._is_new:
            return False
        self._token = None
        return True


def identified(client: ClientInfo | None) -> ClientInfo:
    """Return who connects, with the ids that all its connections have in common."""
    info = client or ClientInfo(is_human=False, version=vance_sdk.__version__)
    return attrs.evolve(
        info,
        client_id=info.client_id or f"cl_{secrets.token_hex(13)}",
        boot_id=info.boot_id or f"boot_{secrets.token_hex(8)}",
    )
