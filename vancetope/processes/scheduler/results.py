"""A call's result, and in the same commit the dispatch of what it made ready.

A chain of tasks costs one commit a link instead of two: on a slow disk that is half of
its time.  Only a task that this very result made ready is begun here, and only when
there is room for it anyway; everything else is the scheduler's.
"""

import logging
from collections.abc import Callable

import attrs

from vancetope.processes import calls as call_rows
from vancetope.processes.flow import LANE_READY
from vancetope.processes.scheduler.steps import Begun, Steps
from vancetope.store.db import Store, Tx
from vancetope.store.queries import tasks
from vancetope.tools.outcome import Outcome

logger = logging.getLogger(__name__)


@attrs.define(eq=False)
class Results:
    """Writes results and lets the next call leave after the commit.

    Attributes:
        serves: whether this Brain runs this process.
    """

    store: Store
    steps: Steps
    serves: Callable[[str], bool]

    async def from_client(
        self, call_id: str, session_id: str, outcome: Outcome
    ) -> None:
        """A client's `tool-result`; see `calls.client_result`.

        Raises:
            NotFound: no such call, or not this session's.
            Unavailable: nothing was written.
        """
        await self._write(
            lambda tx: call_rows.client_result(tx, call_id, session_id, outcome)
        )

    async def from_server(self, call_id: str, outcome: Outcome) -> None:
        """What came of a tool of the Brain's own side.

        Raises:
            Unavailable: nothing was written.
        """
        await self._write(lambda tx: call_rows.server_result(tx, call_id, outcome))

    async def _write(self, finish: Callable[[Tx], None]) -> None:
        begun: list[Begun] = []

        def job(tx: Tx) -> None:
            self._take_back(begun)  # of a transaction that was lost
            finish(tx)
            following = self._begin_next(tx)
            if following is not None:
                begun.append(following)

        try:
            await self.store.write(job)
        except BaseException:
            self._take_back(begun)
            raise
        for following in begun:
            await self.steps.send(following)

    def _take_back(self, begun: list[Begun]) -> None:
        while begun:
            self.steps.router.release(begun.pop().call.id)

    def _begin_next(self, tx: Tx) -> Begun | None:
        """Begin the first task this transaction has made ready, if that is simple."""
        hints = tx.hints(LANE_READY) if tx.here else []
        for hint in hints:
            process_id, node = hint.process_id or "", str(hint.body)
            if self.serves(process_id):
                for task in tasks.ready(tx.conn, process_id, node, 1):
                    return self.steps.begin_at_once(tx, task)
        return None
