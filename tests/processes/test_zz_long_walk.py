"""Anything in any order: the tables stay right, and in the end all of it ends.

Every transaction of every walk is held against tests/support/invariants.py.
"""

import tempfile
from pathlib import Path
from typing import Any

import attrs
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from tests.support.brain import TestBrain, running_brain
from tests.support.client import FakeClient

FLOWS = {
    "tree": """\
tasks:
  - {id: s, tool: now, args: {zone: UTC}}
  - {id: r, tool: read, args: {path: r}, on_error: continue}
  - {id: w, tool: write, args: {path: w}, depends_on: [r, s]}
  - {id: e, foreach: [1, 2, 3], tool: read, args: {path: "{{ item }}"}, depends_on: [s]}
  - {id: o, tool: send, args: {to: o}, depends_on: [s]}
  - {id: end, result: "{{ tasks.e.result | length }}", depends_on: [w, o, e]}
""",
    "skip": """\
tasks:
  - {id: a, tool: read, args: {path: a}, offline_strategy: skip}
  - {id: b, tool: write, args: {path: "{{ tasks.a.result }}"}}
  - {id: c, tool: send, args: {to: c}, depends_on: [a], timeout: 1m}
  - {id: d, tool: read, args: {path: d}, start_within: 5m, depends_on: [c]}
""",
}
TOOLS = ["read", "write", "send"]
WORDS = [
    "start", "connect", "drop", "resume", "leave", "answer", "answer", "answer",
    "fail", "expire", "cancel", "rerun", "move", "pause", "continue", "stop",
    "wait", "long-wait", "crash", "restart",
]  # fmt: skip
STEP = st.tuples(st.sampled_from(WORDS), st.integers(0, 1000), st.integers(0, 4))


@attrs.define
class Walk:
    """Does one thing after another; `at` chooses which of several."""

    brain: TestBrain
    page: FakeClient
    clients: list[FakeClient] = attrs.field(factory=list)
    away: list[FakeClient] = attrs.field(factory=list)
    processes: list[str] = attrs.field(factory=list)

    async def do(self, word: str, at: int, ticks: int) -> None:
        method = getattr(self, "_" + word.replace("-", "_"), None)
        if method is not None:
            await method(at)
        elif word in ("pause", "continue", "stop"):
            await self._steer(word, at)
        elif word in ("cancel", "rerun", "move"):
            await self._task(word, at)
        for _ in range(ticks):
            await trio.lowlevel.checkpoint()

    async def _start(self, at: int) -> None:
        flow = sorted(FLOWS)[at % len(FLOWS)]
        self.processes.append(await self.page.start(flow, autonomous=at % 3 == 0))

    async def _connect(self, at: int) -> None:
        journal = f"j{at}" if at % 2 else None
        client = await self.brain.connect(
            f"c{at % 3}",
            profile="foot",
            project=f"p{at}",
            tools=TOOLS[: 1 + at % 3],
            journal_id=journal,
        )
        self.clients.append(client)

    async def _drop(self, at: int) -> None:
        if self.clients:
            client = self.clients.pop(at % len(self.clients))
            client.end.vanish()
            self.away.append(client)

    async def _leave(self, at: int) -> None:
        if self.clients:
            await self.clients.pop(at % len(self.clients)).disconnect()

    async def _resume(self, at: int) -> None:
        if self.away:
            old = self.away.pop(at % len(self.away))
            back = await self.brain.connect(
                old.name, profile="foot", tools=TOOLS, resume=old.session_id
            )
            back.requests.extend(old.requests)
            self.clients.append(back)

    async def _some_request(self, at: int) -> tuple[FakeClient, dict[str, Any]] | None:
        able = [client for client in self.clients if client.requests]
        if not able:
            return None
        client = able[at % len(able)]
        return client, client.requests[at % len(client.requests)]

    async def _answer(self, at: int) -> None:
        if found := await self._some_request(at):
            await found[0].answer(found[1], f"result {at}")

    async def _fail(self, at: int) -> None:
        if found := await self._some_request(at):
            await found[0].fail(found[1], "failed" if at % 2 else "outcome_unknown")

    async def _expire(self, at: int) -> None:
        if found := await self._some_request(at):
            await found[0].fail(found[1], "expired")
            await trio.sleep(1)

    async def _steer(self, word: str, at: int) -> None:
        if self.processes:
            process = self.processes[at % len(self.processes)]
            await self.page.ask(f"process-{word}", thinkProcessId=process)

    async def _task(self, word: str, at: int) -> None:
        rows = self.brain.rows("SELECT id FROM task ORDER BY id")
        if rows:
            more = {"before_task_id": rows[(at * 7) % len(rows)]["id"]}
            await self.page.ask(
                f"task-{word}",
                task_id=rows[at % len(rows)]["id"],
                **(more if word == "move" else {}),
            )

    async def _wait(self, at: int) -> None:
        await trio.sleep(1 + at % 90)

    async def _long_wait(self, at: int) -> None:
        await trio.sleep(60 * (1 + at % 30))

    async def _crash(self, at: int) -> None:
        await self._again(crash=True)

    async def _restart(self, at: int) -> None:
        await self._again(crash=False)

    async def _again(self, *, crash: bool) -> None:
        self.away += self.clients
        self.clients = []
        await self.brain.restart(crash=crash)
        self.page = await self.brain.connect("page")

    async def finish(self) -> None:
        """With every tool there, all ends but what nobody can know."""
        for client in self.clients:
            client.end.vanish()
        await self.brain.connect(
            "last", profile="foot", project="last",
            serve={"read": "r", "write": "w", "send": "s"},
        )  # fmt: skip
        await trio.sleep(2 * 3600)
        for process in self.processes:
            if self.brain.status(process) == "paused":
                await self.page.ask("process-continue", thinkProcessId=process)
        await trio.sleep(3600)
        stuck = self.brain.rows(
            "SELECT key, status, cause_kind, cause_what FROM task WHERE ended_at IS NULL"
            " AND cause_kind NOT IN ('outcome_unknown', 'dependency')"
        )
        assert stuck == []
        for process in self.processes:
            unknown = [
                row for row in self.brain.calls(process) if row["state"] == "unknown"
            ]
            ended = self.brain.status(process) in ("done", "failed", "stopped")
            assert ended != bool(unknown), (self.brain.statuses(process), unknown)


async def walk(steps: list[tuple[str, int, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with running_brain(Path(folder), workflows=FLOWS) as brain:
            one = Walk(brain, await brain.connect("page"))
            await one.do("start", 1, 0)
            for word, at, ticks in steps:
                await one.do(word, at, ticks)
            await one.finish()


@settings(max_examples=600)
@given(st.lists(STEP, max_size=60))
def test_whatever_happens_nothing_is_lost_and_every_wait_has_one_cause(
    steps: list[tuple[str, int, int]],
) -> None:
    trio.run(walk, steps, clock=MockClock(autojump_threshold=0))
