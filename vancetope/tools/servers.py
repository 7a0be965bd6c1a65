"""The Brain's side: which of its tools are up, and how one is run."""

import logging
from collections.abc import Mapping
from typing import Protocol

import attrs

from vancetope.model.json import JsonObject
from vancetope.model.tool import ToolSpec
from vancetope.tools.outcome import Failed, FailureCode, Outcome
from vancetope.tools.routing import ServerState

logger = logging.getLogger(__name__)


class ServerTool(Protocol):
    """One tool the Brain itself can run."""

    async def __call__(self, args: JsonObject) -> Outcome:
        """Run it; a failure of the tool is an outcome, not an exception."""
        ...


@attrs.define(eq=False)
class Servers:
    """The tools of the Brain's own side, by name."""

    tools: Mapping[str, ServerTool]

    def state(self, spec: ToolSpec) -> ServerState:
        """Whether the server's copy of a tool exists and can be used now."""
        if not spec.on_server:
            return ServerState.ABSENT
        if spec.mcp_server is None and spec.name in self.tools:
            return ServerState.UP
        return ServerState.DOWN if spec.mcp_server else ServerState.ABSENT

    async def run(self, name: str, args: JsonObject) -> Outcome:
        """Run a tool.  Never raises but when cancelled."""
        tool = self.tools.get(name)
        if tool is None:
            message = f"The Brain has no tool {name} now"
            return Failed(code=FailureCode.FAILED, message=message)
        try:
            return await tool(args)
        except Exception:
            # A tool must not take the router down; its bug is one failed call.
            logger.exception("tool.crashed %s", name)
            message = f"{name} broke; the Brain's log has the traceback"
            return Failed(code=FailureCode.FAILED, message=message)
