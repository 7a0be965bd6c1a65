"""One call of a local tool while it is here, and what its tool may say about it."""

from contextvars import ContextVar
from enum import Enum
from typing import Final

import attrs
import trio

from vance_sdk.awake import WallClock
from vance_sdk.wire.digest import args_digest
from vance_sdk.wire.messages import Json, ToolProgress, ToolRequest
from vance_sdk.wire.messages.tools import GrantedApproval


class CallState(Enum):
    """What is being done about a call."""

    WAITING = "not_started"
    RUNNING = "stopping"
    ENDED = "finished"


@attrs.define(eq=False, kw_only=True)
class Call:
    """A call that has come and is not answered yet.

    Attributes:
        digest: Of the arguments.
        scope: Cancelled to drop a call that waits, or to stop an async tool.
        cancelled: The Brain asked to give the call up.
    """

    request: ToolRequest
    state: CallState = CallState.WAITING
    scope: trio.CancelScope = attrs.field(factory=trio.CancelScope)
    cancelled: bool = False
    _wall: WallClock
    _came_at: float = attrs.field(init=False, factory=trio.current_time)
    _came_at_wall: float = attrs.field(init=False)
    _token: trio.lowlevel.TrioToken = attrs.field(
        init=False, factory=trio.lowlevel.current_trio_token
    )
    _news: trio.Event = attrs.field(init=False, factory=trio.Event)
    _details: Json = None
    _asking: bool | None = None
    _progress: int = 0

    def __attrs_post_init__(self) -> None:
        self._came_at_wall = self._wall()

    @property
    def digest(self) -> str:
        """Fingerprint of the arguments."""
        return self.request.args_digest or args_digest(self.request.args)

    @property
    def start_seconds(self) -> float:
        """How long the call may wait, from its coming on."""
        within = self.request.start_within_ms
        return float("inf") if within is None else within / 1000

    def is_late(self) -> bool:
        """Tell whether the call has waited too long, a machine's sleep included."""
        waited = max(
            trio.current_time() - self._came_at, self._wall() - self._came_at_wall
        )
        return waited >= self.start_seconds

    @property
    def asking(self) -> bool:
        """Whether a person is being asked."""
        return bool(self._asking)

    def report(self, details: Json, *, asking: bool | None = None) -> None:
        """Note what to show next. May be called from any thread."""
        self._token.run_sync_soon(self._note, details, asking)

    def _note(self, details: Json, asking: bool | None) -> None:  # noqa: FBT001
        self._details, self._asking = details, asking
        self._news.set()

    async def next_progress(self, seconds: float) -> ToolProgress:
        """Return the next sign of life: news, or none after ``seconds``."""
        with trio.move_on_after(seconds):
            await self._news.wait()
        self._news = trio.Event()
        self._progress += 1
        details, self._details = self._details, None
        return ToolProgress(
            request_id=self.request.request_id,
            n=self._progress,
            asking=self._asking,
            details=details,
        )


@attrs.frozen
class CallContext:
    """What a running tool may know and say about its own call."""

    _call: Call

    @property
    def request_id(self) -> str:
        """The call's id: the same id is the same call."""
        return self._call.request.request_id

    @property
    def approval(self) -> GrantedApproval | None:
        """The approval that the call goes out with."""
        return self._call.request.approval

    @property
    def cancelled(self) -> bool:
        """Whether the Brain asked to give the call up.

        A tool in a thread cannot be stopped from outside: a long one looks here.
        """
        return self._call.cancelled

    def report(self, details: Json, *, asking: bool | None = None) -> None:
        """Show progress, at once; of several reports in a row the last one counts.

        Args:
            details: Any JSON, to show.
            asking: A person is being asked, so the call's clock pauses.
        """
        self._call.report(details, asking=asking)


_current: Final[ContextVar[CallContext]] = ContextVar("vance_sdk_call")


def enter_call(call: Call) -> None:
    """Make ``call`` the current one of this task and the threads it starts."""
    _current.set(CallContext(call))


def current_call() -> CallContext:
    """Return the call that the tool which asks is running for.

    Raises:
        LookupError: Asked from outside a tool.
    """
    return _current.get()
