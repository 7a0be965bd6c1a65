"""The client library of the Vancetope Brain.

The names below load their module on first use, so that a program which needs only
one of them does not pay for the other.

``python -m vance_sdk.wire.schema`` prints the JSON Schemas of all messages.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from vance_sdk.blocking import VanceClient
    from vance_sdk.client import Client, open_client
    from vance_sdk.errors import (
        BadAddress,
        BrainRefused,
        ConnectionLost,
        HandshakeRefused,
        MessageTooBig,
        NotConnected,
        NotEnded,
        ProcessFailed,
        Timeout,
        ToolFailed,
        UnexpectedAnswer,
        VanceError,
    )
    from vance_sdk.local_tool import LocalTool, tool_from_function

__version__ = "0.1.0"

__all__ = [
    "BadAddress",
    "BrainRefused",
    "Client",
    "ConnectionLost",
    "HandshakeRefused",
    "LocalTool",
    "MessageTooBig",
    "NotConnected",
    "NotEnded",
    "ProcessFailed",
    "Timeout",
    "ToolFailed",
    "UnexpectedAnswer",
    "VanceClient",
    "VanceError",
    "__version__",
    "open_client",
    "tool_from_function",
]

_ELSEWHERE: Final = {
    "Client": "client",
    "LocalTool": "local_tool",
    "VanceClient": "blocking",
    "open_client": "client",
    "tool_from_function": "local_tool",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    module = import_module(f"{__name__}.{_ELSEWHERE.get(name, 'errors')}")
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
