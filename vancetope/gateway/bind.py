"""Opens the port, and says in one line what to do when it cannot be opened."""

import errno
import os
import socket
from typing import Final

import attrs
import trio

from vancetope.errors import HomeError
from vancetope.gateway.edge import EdgeConfig
from vancetope.gateway.origin import CallerPolicy, host_name, is_wildcard

_HIGHEST_PORT: Final = 65535
_OWN_ADDRESS: Final = "Use an address of this machine, such as `--host 127.0.0.1`."


@attrs.frozen
class Address:
    """Where the listener can be reached."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """`http://HOST:PORT`, an IPv6 address in brackets."""
        return f"http://{host_name(self.host)}:{self.port}"

    @property
    def local_url(self) -> str:
        """The same for callers on this machine: of a wildcard, the loopback."""
        if not is_wildcard(self.host):
            return self.url
        loopback = "::1" if ":" in self.host else "127.0.0.1"
        return Address(loopback, self.port).url


async def open_port(config: EdgeConfig) -> list[trio.SocketListener]:
    """Bind every address that `config.host` resolves to; of port 0 only the first.

    Raises:
        HomeError: the port is taken, or the address is not one of this machine's.
    """
    where = f"{host_name(config.host)}:{config.port}"
    if not 0 <= config.port <= _HIGHEST_PORT:
        message = f"{config.port} is not a port"
        raise HomeError(message, fix="Choose one from 0 to 65535.")
    try:
        listeners = await trio.open_tcp_listeners(config.port, host=config.host)
    except socket.gaierror as error:
        message = f"cannot listen on {where}: the name does not resolve"
        raise HomeError(message, fix=_OWN_ADDRESS) from error
    except OSError as error:
        message = f"cannot listen on {where}: {_cause(error)}"
        raise HomeError(message, fix=_fix(error)) from error
    if config.port == 0:
        for listener in listeners[1:]:
            await listener.aclose()
        del listeners[1:]
    return listeners


def policy_of(config: EdgeConfig, listeners: list[trio.SocketListener]) -> CallerPolicy:
    """The allow-lists of these listeners.

    Raises:
        HomeError: an entry of the configuration is not in its form.
    """
    addresses = [listener.socket.getsockname() for listener in listeners]
    try:
        return CallerPolicy.build(
            bound=[config.host, *(address[0] for address in addresses)],
            port=addresses[0][1],
            hosts=config.allowed_hosts,
            origins=config.allowed_origins,
        )
    except ValueError as error:
        raise HomeError(str(error), fix="Correct it in brain.yaml.") from error


def _cause(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "the port is in use"
    return os.strerror(error.errno).lower() if error.errno else str(error)


def _fix(error: OSError) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return "Stop what uses it, or take a free one with `--port 0`."
        case errno.EACCES | errno.EPERM:
            return "Use a port above 1023."
        case _:
            return _OWN_ADDRESS
