"""Is this request the opening handshake of a WebSocket? (RFC 6455 section 4.2.1)"""

import base64
import binascii
from typing import Final

from vancetope.gateway.edge import WEBSOCKET_PATH
from vancetope.gateway.head import RequestHead
from vancetope.gateway.refusal import Refusal

_VERSION: Final = "13"
_NONCE_BYTES: Final = 16


def is_upgrade(head: RequestHead) -> bool:
    """Whether the request asks for our WebSocket; it may still be a bad one."""
    return (
        head.method == "GET"
        and head.path == WEBSOCKET_PATH
        and "websocket" in head.tokens("upgrade")
    )


def check_upgrade(head: RequestHead) -> None:
    """Hold an upgrade to the RFC, before the WebSocket library sees it.

    The library answers a bad handshake too, but then waits for a good one for ever.

    Raises:
        Refusal: 400, or 426 for another version of the protocol.
    """
    if head.version != "1.1":
        raise Refusal(400, "a WebSocket needs HTTP/1.1")
    if "upgrade" not in head.tokens("connection"):
        raise Refusal(400, "a WebSocket needs `Connection: Upgrade`")
    if head.values("sec-websocket-version") != [_VERSION]:
        raise Refusal(
            426,
            f"version {_VERSION} of the WebSocket protocol is spoken here",
            headers=(("sec-websocket-version", _VERSION), ("upgrade", "websocket")),
        )
    if not _is_nonce(head.values("sec-websocket-key")):
        raise Refusal(400, "Sec-WebSocket-Key must be 16 bytes in base64")
    lengths = head.values("content-length")
    if head.values("transfer-encoding") or any(int(length) for length in lengths):
        raise Refusal(400, "a WebSocket request has no body")


def _is_nonce(values: list[str]) -> bool:
    if len(values) != 1:
        return False
    try:
        return len(base64.b64decode(values[0], validate=True)) == _NONCE_BYTES
    except (binascii.Error, ValueError):
        return False
