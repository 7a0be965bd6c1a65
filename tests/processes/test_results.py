"""A result and the dispatch it makes possible share a commit."""

import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import cast

import attrs
import pytest
from trio.testing import MockClock

from tests.support.brain import CheckedBus, running_brain
from vancetope.config.brain import BrainConfig, LimitsConfig
from vancetope.events import Event
from vancetope.processes.scheduler.results import Results
from vancetope.processes.scheduler.steps import Steps
from vancetope.store.db import Store, Tx
from vancetope.tools.outcome import Succeeded

CHAIN = """\
tasks:
  - {id: a, tool: read, args: {path: x}}
  - {id: b, tool: read, args: {path: "{{ tasks.a.result }}"}}
  - {id: c, tool: now, depends_on: [b]}
  - {id: d, tool: read, args: {path: y}, depends_on: [c]}
"""
FLOWS = {"chain": CHAIN}


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> list[list[Event]]:
    """What was published together, that is committed together."""
    batches: list[list[Event]] = []
    publish = CheckedBus.publish

    def listen(bus: CheckedBus, events: Iterable[Event]) -> None:
        known = list(events)
        batches.append([event for event in known if event.seq])
        publish(bus, known)

    monkeypatch.setattr(CheckedBus, "publish", listen)
    return batches


async def test_the_next_call_is_dispatched_in_the_commit_of_the_result(
    tmp_path: Path, commits: list[list[Event]], autojump_clock: MockClock
) -> None:
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        laptop = await brain.connect("laptop", tools=["read"])
        process = await laptop.start("chain")
        first = await laptop.request("read")
        ids = {key: brain.task(process, key)["id"] for key in ("a", "b", "c", "d")}
        await laptop.send("tool-result", request_id=first["request_id"], result="x")
        second = await laptop.request("read")
        assert second["args"] == {"path": "x"}
        await laptop.send("tool-result", request_id=second["request_id"], result="y")
        third = await laptop.request("read")
        await laptop.send("tool-result", request_id=third["request_id"], result="z")
        assert (await laptop.finished(process))["status"] == "done"

        together = [{event.task_id for event in commit} for commit in commits]
        # client to client, client to server, server to client
        for one, following in (("a", "b"), ("b", "c"), ("c", "d")):
            assert any({ids[one], ids[following]} <= commit for commit in together)
        states = [(call["state"], call["attempt"]) for call in brain.calls(process)]
        assert states == [("succeeded", 1)] * 4


async def test_a_full_window_leaves_the_next_call_to_the_scheduler(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    config = BrainConfig(limits=LimitsConfig(window=1))
    async with running_brain(tmp_path, workflows=FLOWS, config=config) as brain:
        laptop = await brain.connect("laptop", serve={"read": "text"})
        process = await laptop.start("chain")
        assert (await laptop.finished(process))["status"] == "done"
        [client] = brain.brain.hub.clients.all()
        assert client.in_flight == set()


class Lost(Exception):
    """The transaction is gone, as when a neighbour's job has filled the disk."""


@attrs.frozen
class LosesFirst:
    """A store that loses each job's first transaction and runs the job again."""

    store: Store

    async def write(self, fn: Callable[[Tx], None]) -> None:
        def lose(tx: Tx) -> None:
            fn(tx)
            raise Lost

        with contextlib.suppress(Lost):
            await self.store.write(lose)
        await self.store.write(fn)


async def test_a_result_whose_transaction_is_lost_takes_its_successor_back(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    # Seen to fail without `_take_back`: the place in the window was never freed.
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        laptop = await brain.connect("laptop", tools=["read"])
        process = await laptop.start("chain")
        first = await laptop.request("read")
        whole = brain.brain.hub.results
        store = cast("Store", LosesFirst(brain.store))
        results = Results(store, whole.steps, whole.serves)
        await results.from_client(
            first["request_id"], laptop.session_id, Succeeded(result="x")
        )
        second = await laptop.request("read")
        [client] = brain.brain.hub.clients.all()
        # The first is given back by the handler, which this test has left out.
        assert client.in_flight == {first["request_id"], second["request_id"]}
        assert [call["attempt"] for call in brain.calls(process)] == [1, 1]


async def test_a_job_on_the_writers_thread_begins_nothing(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A neighbour that is `long` takes the whole batch to the thread, where the
    # windows must not be touched.
    def begin(*_args: object) -> None:
        raise NotImplementedError

    monkeypatch.setattr(Steps, "begin_at_once", begin)
    async with running_brain(tmp_path, workflows=FLOWS) as brain:
        laptop = await brain.connect("laptop", tools=["read"])
        process = await laptop.start("chain")
        first = await laptop.request("read")
        writer = brain.store._writer
        run = writer._run

        async def on_the_thread(batch: object) -> None:
            for job in batch.jobs:  # type: ignore[attr-defined]
                job.long = True
            await run(batch)  # type: ignore[arg-type]

        monkeypatch.setattr(type(writer), "_run", lambda _self, b: on_the_thread(b))
        await laptop.send("tool-result", request_id=first["request_id"], result="x")
        await laptop.request("read")
        assert brain.task(process, "b")["status"] == "running"
