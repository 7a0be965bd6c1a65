"""The client library of the Vancetope Brain.

The names below load their module on first use, so that a program which needs only
one of them does not pay for the other.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vance_sdk.blocking import VanceClient
    from vance_sdk.client import Client, open_client

__version__ = "0.1.0"

__all__ = ["Client", "VanceClient", "__version__", "open_client"]


def __getattr__(name: str) -> object:
    if name == "VanceClient":
        from vance_sdk.blocking import VanceClient

        return VanceClient
    if name in {"Client", "open_client"}:
        from vance_sdk import client

        return getattr(client, name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted(__all__)
