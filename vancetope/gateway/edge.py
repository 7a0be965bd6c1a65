"""Every bound of the edge in one place, with its default."""

from typing import Final

import attrs

#: The one path that is a WebSocket; PROTOCOL section 1.
WEBSOCKET_PATH: Final = "/api/ws"

KIB: Final = 1024
MIB: Final = 1024 * KIB


@attrs.frozen(kw_only=True)
class EdgeConfig:
    """Where to listen, who may call, and how long anything may take.

    Attributes:
        host: name or address to bind; every address it resolves to is bound.
        port: TCP port; 0 lets the system pick one.
        allowed_hosts: further `Host` values (`name`, or `name:port` for a port that
            is not ours, as behind a port mapping).  Loopback names and the address
            bound always count.
        allowed_origins: further `Origin` values, written `scheme://host[:port]`.
        head_limit: bytes of request line and headers.
        first_frame_limit: bytes of a socket's first frame, before it is known.
        frame_limit: bytes of every later frame.
        max_unauthenticated: sockets in head parsing or before their handshake.
        max_http: HTTP connections at once; one more gets a 503.
        http_load_timeout_s: how long a request waits for the HTTP side to load.
        shutdown_grace_s: how long a stop waits before it closes by force.
        http_on_demand: load the HTTP side with its first request, not at the start.

    All `*_s` are seconds.
    """

    host: str = "127.0.0.1"
    port: int = 7717
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    head_timeout_s: float = 10.0
    head_limit: int = 64 * KIB
    first_frame_limit: int = 64 * KIB
    frame_limit: int = MIB
    max_unauthenticated: int = 64
    max_http: int = 256
    accept_timeout_s: float = 5.0
    send_timeout_s: float = 10.0
    ping_timeout_s: float = 15.0
    close_timeout_s: float = 2.0
    evict_timeout_s: float = 0.1
    linger_s: float = 2.0
    keep_alive_s: float = 15.0
    body_idle_s: float = 30.0
    http_load_timeout_s: float = 15.0
    shutdown_grace_s: float = 3.0
    http_on_demand: bool = False
