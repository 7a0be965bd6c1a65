"""What stays the same over all connections of a client."""

from collections.abc import Callable
from typing import TypeAlias

import attrs

from vance_sdk.awake import WallClock, wall_seconds
from vance_sdk.reconnect import Uniform, system_uniform
from vance_sdk.transport import Connector
from vance_sdk.wire.messages import ClientInfo, SessionOpened

OnConnected: TypeAlias = Callable[[SessionOpened], None]


@attrs.frozen(kw_only=True)
class Settings:
    """What stays the same over all connections of a client.

    Attributes:
        url: Any of the Brain's URLs.
        project_id: The project for a new session.
        reconnect_when_replaced: Come back even if a newer connection of the same
            client took over; two such clients would fight.
        on_connected: Called with each answer to a handshake; must not block or raise.
        connect: How to open a WebSocket; ``None``: over TCP and TLS.
        uniform: The randomness of waiting before another attempt.
    """

    url: str
    token: str = attrs.field(repr=False)
    client: ClientInfo
    profile: str | None = None
    name: str | None = None
    project_id: str | None = None
    reconnect_when_replaced: bool = False
    on_connected: OnConnected | None = None
    connect: Connector | None = None
    uniform: Uniform = system_uniform
    wall: WallClock = wall_seconds
