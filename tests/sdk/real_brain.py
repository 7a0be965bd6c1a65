"""The real Brain, on a loopback socket beside the test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import attrs
import trio

from vancetope.brain import Brain, assemble, listener_for
from vancetope.clock import SystemClock
from vancetope.config.brain import BrainConfig
from vancetope.config.home import Home
from vancetope.crypto import SigningKey
from vancetope.events import Bus
from vancetope.gateway.auth import TokenVerifier
from vancetope.store.db import open_store

TOOLS: Final = """
tools:
  - {name: slow, location: client, effect: idempotent}
"""
ECHO: Final = """
inputs: {n: {}}
tasks:
  - id: echo
    result: "{{ inputs.n }}"
result: {n: "{{ tasks.echo.result }}"}
"""
GREET: Final = """
inputs: {name: {}}
tasks:
  - id: call
    tool: greet
    args: {name: "{{ inputs.name }}"}
result: "{{ tasks.call.result }}"
"""
PLAIN: Final = """
tasks:
  - id: call
    tool: TOOL
result: "{{ tasks.call.result }}"
"""


@attrs.frozen
class RealBrain:
    """What the contract needs of it."""

    _brain: Brain
    url: str
    token: str
    echo_workflow: str = "echo"

    def calls(self, tool: str) -> str:
        return f"call-{tool}"

    async def drop(self) -> None:
        for session in list(self._brain.hub.live.values()):
            session.ws.abort()
        await trio.lowlevel.checkpoint()


@asynccontextmanager
async def serve_really(path: Path) -> AsyncIterator[RealBrain]:
    """Run it until the block ends."""
    home, clock, bus = Home(path), SystemClock(), Bus()
    home.workflows.mkdir(parents=True)
    home.tools.write_text(TOOLS, encoding="utf-8")
    files = {"echo": ECHO, "call-greet": GREET}
    for tool in ("fail", "late", "slow"):
        files[f"call-{tool}"] = PLAIN.replace("TOOL", tool)
    for name, text in files.items():
        (home.workflows / f"{name}.yaml").write_text(text, encoding="utf-8")
    key = SigningKey.of_home(home.secrets)
    async with open_store(home.database, clock=clock, bus=bus) as store:
        brain = assemble(
            store,
            home=home,
            config=BrainConfig(),
            clock=clock,
            bus=bus,
            verifier=TokenVerifier(key, clock),
        )
        async with trio.open_nursery() as nursery:
            await nursery.start(brain.work)
            address = await nursery.start(listener_for(brain, None, 0).serve)
            yield RealBrain(brain, address.url, key.mint(clock))
            nursery.cancel_scope.cancel()
