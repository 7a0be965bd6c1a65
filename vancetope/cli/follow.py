"""Look at a process until there is nothing more to see."""

from collections.abc import Callable
from typing import Final

import attrs
import trio

from vance_sdk.errors import BrainRefused, ConnectionLost
from vance_sdk.wire.messages import (
    Error,
    Outbound,
    ProcessGet,
    ProcessGetQuery,
    TaskListQuery,
)
from vancetope.cli.board import Board
from vancetope.cli.link import Link

#: Shows follow each other no faster than this.
SHOW_S: Final = 0.05
#: A list that takes no longer is waited for before its news are shown.
SOON_S: Final = 0.2
#: The share of the time that asking for long lists may take.
LIST_SHARE: Final = 0.15
#: The id of the questions for the list of tasks.
LIST_ID: Final = "board"

Show = Callable[[Board], None]


@attrs.define(eq=False, kw_only=True)
class Follower:
    """Keeps a board up to date over one connection.

    The lists come in one stream with the news, so that of two words about a task the
    later one counts.
    """

    link: Link
    board: Board
    _asked_at: float | None = attrs.field(init=False, default=None)
    _took: float = attrs.field(init=False, default=0.0)
    _list_after: float = attrs.field(init=False, default=0.0)

    async def follow(self, show: Show, enough: Callable[[Board], bool]) -> None:
        """Show what there is to see until `enough`, or until the process has ended.

        The last list is asked for at the end, so that it is complete.

        Raises:
            ConnectionLost: the Brain is gone.
            BrainRefused: it does not show the process.
        """
        board = self.board
        while True:
            over = board.ended or enough(board)
            await self._ask_if_stale(at_once=over)
            asking = self._asked_at is not None
            if not asking or self._took > SOON_S:
                show(board)
            if over and not asking:
                return
            await self._listen()
            await trio.sleep(0 if self._asked_at is not None else SHOW_S)

    async def _ask_if_stale(self, *, at_once: bool) -> None:
        now = trio.current_time()
        due = at_once or now >= self._list_after
        if self.board.stale and due and self._asked_at is None:
            self.board.stale = False
            self._asked_at = now
            query = TaskListQuery(think_process_id=self.board.process_id, id=LIST_ID)
            await self.link.connection.send(query)

    async def _listen(self) -> None:
        """Wait for news, or until a list is due; take in all there is."""
        frame: Outbound | None = None
        due = self.board.stale and self._asked_at is None
        with trio.move_on_at(self._list_after if due else float("inf")):
            try:
                frame = await self.link.news.receive()
            except trio.EndOfChannel:
                raise self.link.connection.lost or ConnectionLost(1006) from None
        while frame is not None:
            self._hear(frame)
            try:
                frame = self.link.news.receive_nowait()
            except (trio.WouldBlock, trio.EndOfChannel):
                frame = None

    def _hear(self, frame: Outbound) -> None:
        if isinstance(frame, Error) and frame.reply_to == LIST_ID:
            raise BrainRefused(frame.code, frame.message, frame.context)
        if self.board.hear(frame) and self._asked_at is not None:
            self._took = trio.current_time() - self._asked_at
            self._list_after = trio.current_time() + self._took / LIST_SHARE
            self._asked_at = None


async def catch_up(link: Link, board: Board) -> None:
    """Ask where the process stands; what was pushed before is lost."""
    query = ProcessGetQuery(think_process_id=board.process_id)
    process = (await link.ask(query, ProcessGet)).process
    board.status, board.result, board.stale = process.status, process.result, True
