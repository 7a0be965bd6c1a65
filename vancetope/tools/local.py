"""The built-in tools as the router runs them."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar, cast

import attrs
import trio

from vance_sdk.wire.truncate import truncated
from vancetope.clock import Clock
from vancetope.errors import ToolFailed
from vancetope.model.json import Json, JsonObject
from vancetope.tools.builtins import BuiltIn, built_ins
from vancetope.tools.outcome import Failed, FailureCode, Outcome, Succeeded
from vancetope.tools.servers import ServerTool

T = TypeVar("T")

#: Runs a function that computes; a seam, since virtual time passes while threads work.
RunCpu = Callable[[Callable[[], Any]], Awaitable[Any]]


async def in_thread(work: Callable[[], T]) -> T:
    """Compute in a worker thread; the loop goes on."""
    return await trio.to_thread.run_sync(work, abandon_on_cancel=True)


@attrs.frozen(eq=False)
class LocalTool:
    """One built-in tool."""

    _tool: BuiltIn
    _limit: int
    _run_cpu: RunCpu

    async def __call__(self, args: JsonObject) -> Outcome:
        """Run it on checked arguments; a result over the limit is cut."""
        try:
            work = self._tool.bind(args)
            if self._tool.cpu:
                result = await self._run_cpu(cast("Callable[[], Json]", work))
            else:
                made = work()
                result = await made if isinstance(made, Awaitable) else made
        except ToolFailed as exc:
            return Failed(code=FailureCode.FAILED, message=exc.message)
        return Succeeded(result=truncated(result, self._limit))


def local_tools(
    clock: Clock, *, result_limit: int, run_cpu: RunCpu = in_thread
) -> dict[str, ServerTool]:
    """Every built-in by its name.

    Args:
        clock: the time that `now` tells.
        result_limit: bytes of JSON a result may have.
        run_cpu: where what computes is run.
    """
    make = partial(LocalTool, limit=result_limit, run_cpu=run_cpu)
    return {name: make(tool) for name, tool in built_ins(clock).items()}
