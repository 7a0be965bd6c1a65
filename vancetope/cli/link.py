"""A connection of the command line to the Brain of its home."""

import math
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final, TypeVar

import attrs
import trio

import vancetope
from vance_sdk.connection import Connection, open_connection
from vance_sdk.errors import (
    ConnectionLost,
    HandshakeRefused,
    UnexpectedAnswer,
)
from vance_sdk.scopes import background_nursery
from vance_sdk.wire.messages import (
    ClientInfo,
    Inbound,
    Outbound,
    SessionChoice,
)
from vancetope.cli.failure import Failure, edge_code, refusal_line
from vancetope.cli.launch import Launcher
from vancetope.client.trouble import words_of
from vancetope.clock import Clock, SystemClock
from vancetope.crypto import SigningKey
from vancetope.errors import HomeError

PROFILE: Final = "cli"
#: For a Brain to be there: one that stops, and another one's start after it.
START_S: Final = 30.0
LOOK_S: Final = 0.02
#: The longest pause after a connection that failed; the first one is LOOK_S.
PAUSE_S: Final = 0.5
#: A token is made anew for each connection.
TOKEN_MS: Final = 600_000

R = TypeVar("R", bound=Outbound)


@attrs.define(eq=False, kw_only=True)
class Link:
    """An open connection: questions, and what comes unasked.

    Attributes:
        news: the frames that answer nothing, in order; ends with the connection.
        trouble: why the last attempt to connect failed.
    """

    connection: Connection = attrs.field(init=False)
    news: trio.MemoryReceiveChannel[Outbound] = attrs.field(init=False)
    trouble: str = attrs.field(init=False, default="")
    _feed: trio.MemorySendChannel[Outbound] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        # Unbounded: who reads it never waits for long, and a frame is small.
        self._feed, self.news = trio.open_memory_channel[Outbound](math.inf)

    def take(self, frame: Outbound) -> None:
        """Keep a frame that answers nothing."""
        self._feed.send_nowait(frame)

    async def ask(self, message: Inbound, kind: type[R]) -> R:
        """Send a message and return its direct answer.

        Raises:
            BrainRefused: the Brain says no.
            VanceError: there is no answer, or one of another kind.
        """
        return _as(message, await self.connection.request(message), kind)

    async def close_with_connection(self) -> None:
        """End everything that waits when the connection does."""
        await self.connection.closed.wait()
        self._feed.close()


def _as(message: Inbound, frame: Outbound, kind: type[R]) -> R:
    if not isinstance(frame, kind):
        text = f"{message.TYPE} was answered with {frame.TYPE}"
        raise UnexpectedAnswer(text)
    return frame


@asynccontextmanager
async def open_link(
    launcher: Launcher,
    *,
    clock: Clock | None = None,
    project: str | None = None,
    within_s: float = START_S,
) -> AsyncIterator[Link]:
    """Connect to the home's Brain, started if there is none, until the block ends.

    Args:
        launcher: finds or starts it.
        clock: the wall clock.
        project: a project for the session; absent: the default one.
        within_s: seconds for the Brain to be there and take the connection.

    Raises:
        HomeError: no Brain can be started, or it does not answer.
        Failure: it is not called by the host that it announced.
        VanceError: the Brain does not take the command line.
    """
    key = SigningKey.of_home(launcher.home.secrets)
    token = key.mint(clock or SystemClock(), name=PROFILE, ttl_ms=TOKEN_MS)
    link = Link()
    bound = trio.CancelScope(deadline=trio.current_time() + within_s)
    with bound:
        async with AsyncExitStack() as stack:
            link.connection = await _connect(launcher, stack, link, token, project)
            # From here on the caller sets the bounds.
            bound.deadline = float("inf")
            nursery = await stack.enter_async_context(background_nursery())
            nursery.start_soon(link.close_with_connection)
            yield link
    if bound.cancelled_caught:
        why = f" ({link.trouble})" if link.trouble else ""
        message = f"the Brain of {launcher.home.path} does not answer{why}"
        raise HomeError(message, fix="Stop it, and try again.")


async def _connect(
    launcher: Launcher,
    stack: AsyncExitStack,
    link: Link,
    token: str,
    project: str | None,
) -> Connection:
    pause = LOOK_S
    while True:
        found = launcher.look()
        if found is None:
            await trio.sleep(LOOK_S)
            continue
        opening = open_connection(
            found.url,
            token=token,
            client=ClientInfo(
                type="cli", name="vancetope", version=vancetope.__version__
            ),
            session=SessionChoice(project_id=project) if project else None,
            profile=PROFILE,
            on_frame=link.take,
        )
        try:
            return await stack.enter_async_context(opening)
        except (ConnectionLost, HandshakeRefused) as error:
            # It has just stopped, or left its file behind, its number to another
            # process and its port to another program.
            if isinstance(error, HandshakeRefused) and not _is_no_brain(error):
                raise _refused(error, found.url) from None
            link.trouble = words_of(error, found.url)
        launcher.start()
        await trio.sleep(pause)
        pause = min(PAUSE_S, 2 * pause)


def _is_no_brain(refused: HandshakeRefused) -> bool:
    """Whether what answered does not even speak WebSocket."""
    return refused.message.startswith("HTTP ") and not edge_code(refused)


def _refused(refused: HandshakeRefused, url: str) -> Exception:
    return Failure(refusal_line(refused, url)) if edge_code(refused) else refused
