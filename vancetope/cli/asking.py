"""Questions to the home's Brain from a command that only asks."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypeVar

import attrs

from vancetope.cli.launch import Launcher
from vancetope.cli.options import chosen_home

if TYPE_CHECKING:
    from vance_sdk.wire.messages import Inbound, Outbound
    from vancetope.cli.link import Link

    R = TypeVar("R", bound=Outbound)

T = TypeVar("T")

#: A Brain may leave just when it is asked.
TRIES: Final = 3


@attrs.define(eq=False)
class Asker:
    """Asks; each question is a connection of its own."""

    _launcher: Launcher

    def ask(self, message: "Inbound", kind: "type[R]") -> "R":
        """The direct answer to a message that may be sent twice.

        Raises:
            UserError, VanceError: there is none.
        """
        return self._over_link(lambda link: link.ask(message, kind))

    def _over_link(self, work: "Callable[[Link], Awaitable[T]]") -> T:
        import trio

        from vance_sdk.errors import ConnectionLost
        from vancetope.cli.link import open_link

        async def once() -> T:
            async with open_link(self._launcher) as link:
                return await work(link)

        for _ in range(TRIES - 1):
            try:
                return trio.run(once)
            except ConnectionLost:
                continue
        return trio.run(once)


def asker() -> Asker:
    """A way to ask; a Brain that has to be started starts while others import."""
    launcher = Launcher(chosen_home())
    launcher.look()
    return Asker(launcher)
