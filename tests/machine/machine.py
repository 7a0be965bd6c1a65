"""The queue as a state machine: whatever happens, in any order."""

import atexit
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from tests.machine.devices import OWNER, ROBOT, Device
from tests.machine.workflows import CLIENT_TOOLS, START_WITHIN_MS, workflows
from tests.machine.world import World, make_template
from vancetope.errors import Conflict, NotFound
from vancetope.processes import calls as call_rows
from vancetope.processes.commands import control
from vancetope.processes.commands.control import Changed
from vancetope.processes.workflows.definition import Workflow
from vancetope.store.queries import tasks
from vancetope.store.tx import Tx
from vancetope.tools.outcome import Failed, FailureCode, Succeeded

#: Rounds after which a drain that still finds something to do has gone wrong.
DRAIN_ROUNDS: Final = 400


@cache
def _template() -> tuple[tempfile.TemporaryDirectory[str], Path]:
    folder = tempfile.TemporaryDirectory(prefix="machine")
    atexit.register(folder.cleanup)
    path = Path(folder.name) / "template.db"
    make_template(path)
    return folder, path


def _offers() -> st.SearchStrategy[list[str]]:
    some = st.lists(st.sampled_from(CLIENT_TOOLS), unique=True)
    return st.one_of(st.just(list(CLIENT_TOOLS)), some)


_NUMBER = st.integers(0, 1_000)


class QueueMachine(RuleBasedStateMachine):
    """Processes, three clients, a server that comes and goes, and crashes."""

    @initialize(seed=st.integers(0, 1_000))
    def open(self, seed: int) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="machine")
        self.world = World(_template()[1], Path(self.folder.name), seed)
        self.laptop = Device("laptop", OWNER, "journal-1")
        self.desktop = Device("desktop", OWNER, None)
        self.robot = Device("robot", ROBOT, "journal-2")
        self.devices = [self.laptop, self.desktop, self.robot]
        self.world.devices = self.devices
        self.world.connect(self.laptop, CLIENT_TOOLS)

    # ---------------------------------------------------------- processes, tasks

    @rule(workflow=workflows(), who=st.sampled_from(("laptop", "cron", "robot")))
    def start(self, workflow: Workflow, who: str) -> None:
        if who == "robot":
            if self.robot.client is not None:
                self.world.start(ROBOT, workflow, self.robot.session_id)
            return
        session = self.laptop.session_id if who == "laptop" else None
        self.world.start(OWNER, workflow, session)

    @precondition(lambda self: self._processes())
    @rule(number=_NUMBER, what=st.sampled_from(("pause", "go_on", "stop")))
    def steer(self, number: int, what: str) -> None:
        found = self._processes()
        process_id = found[number % len(found)]
        command = getattr(control, what)
        self._command(lambda tx: command(tx, OWNER, process_id))

    @precondition(lambda self: self._tasks())
    @rule(number=_NUMBER)
    def cancel(self, number: int) -> None:
        task_id = self._pick(number)
        self._command(lambda tx: control.cancel(tx, OWNER, task_id))

    @precondition(lambda self: self._tasks())
    @rule(number=_NUMBER)
    def rerun(self, number: int) -> None:
        task_id = self._pick(number)
        self._command(lambda tx: control.rerun(tx, OWNER, task_id))

    @precondition(lambda self: self._tasks())
    @rule(number=_NUMBER, other=_NUMBER)
    def move(self, number: int, other: int) -> None:
        task_id, before = self._pick(number), self._pick(other)
        self._command(lambda tx: control.move(tx, OWNER, task_id, before))

    # ----------------------------------------------------------------- scheduler

    @rule()
    def begin_steps(self) -> None:
        self.world.begin_steps()

    @precondition(lambda self: self.world.tasks.running)
    @rule(number=_NUMBER)
    def go_on_with_a_task(self, number: int) -> None:
        self.world.tasks.advance(number)
        self.world.collect_server_calls()

    @rule()
    def run_until_quiet(self) -> None:
        self._run_until_quiet()

    @rule()
    def everybody_answers(self) -> None:
        self._run_until_quiet()
        self._answer()

    @rule()
    def crash(self) -> None:
        self.world.crash()

    # ------------------------------------------------------------------- clients

    @rule(number=_NUMBER, tools=_offers())
    def connect(self, number: int, tools: list[str]) -> None:
        self.world.connect(self.devices[number % 3], tools)

    @rule(number=_NUMBER, forgets=st.booleans(), says_so=st.booleans())
    def disconnect(self, number: int, forgets: bool, says_so: bool) -> None:
        device = self.devices[number % 3]
        if device.client is not None:
            self.world.disconnect(device, forgets=forgets, says_so=says_so)

    @rule(number=_NUMBER, tools=_offers())
    def change_offers(self, number: int, tools: list[str]) -> None:
        device = self.devices[number % 3]
        if device.client is not None:
            self.world.offer(device, tools)

    @precondition(lambda self: any(device.inbox for device in self.devices))
    @rule(
        number=_NUMBER,
        how=st.sampled_from(
            (
                "ok",
                "ok",
                "failed",
                "expired",
                "cancelled",
                "rejected",
                "outcome_unknown",
            )
        ),
        accepts=st.booleans(),
    )
    def client_runs(self, number: int, how: str, accepts: bool) -> None:
        able = [device for device in self.devices if device.inbox]
        device = able[number % len(able)]
        request = device.inbox[0]
        if accepts:
            self._from_client(device, request.request_id, accept=True)
        device.run(how, self.world.effects)

    @precondition(lambda self: any(d.client and d.outbox for d in self.devices))
    @rule(number=_NUMBER, again=st.booleans())
    def client_delivers(self, number: int, again: bool) -> None:
        able = [d for d in self.devices if d.client and d.outbox]
        device = able[number % len(able)]
        call_id = device.outbox[0][0]
        self._from_client(device, call_id, accept=False)
        if not again:
            device.outbox.pop(0)

    @precondition(lambda self: self.desktop.client and self.laptop.journal)
    @rule()
    def a_result_from_the_wrong_session(self) -> None:
        call_id = next(iter(self.laptop.journal))
        row = self.world.db.conn.execute(
            "SELECT session_id, state FROM call WHERE id = ?", (call_id,)
        ).fetchone()
        session_id = self.desktop.session_id
        assert session_id is not None
        try:
            self.world.result(call_id, session_id, Succeeded(result="stolen"))
        except NotFound:
            assert row["session_id"] != session_id
        else:
            assert row["session_id"] == session_id

    @precondition(lambda self: self.world.at_server)
    @rule(number=_NUMBER, ok=st.booleans())
    def server_answers(self, number: int, ok: bool) -> None:
        call = self.world.at_server[number % len(self.world.at_server)]
        failed = Failed(code=FailureCode.FAILED, message="broke")
        self.world.server_result(call, Succeeded(result=1) if ok else failed)

    @rule(up=st.booleans())
    def server_comes_and_goes(self, up: bool) -> None:
        if up and not self.world.servers.up:
            self.world.server_up()
        self.world.servers.up = up

    # ---------------------------------------------------------------------- time

    @rule(number=_NUMBER, kind=st.sampled_from(("call", "session")))
    def a_timer_rings(self, number: int, kind: str) -> None:
        timers = self.world.timers
        waiting = timers.waiting(kind)
        if waiting:
            key = waiting[number % len(waiting)]
            self.world.tasks.running.append(timers.ring(kind, key))

    @rule(ms=st.sampled_from((1, START_WITHIN_MS)))
    def time_passes(self, ms: int) -> None:
        self.world.clock.advance(ms)
        self.world.tasks.running.append(self.world.timers.look_at_the_clock())

    # ---------------------------------------------------------------- invariants

    @invariant()
    def nothing_is_wrong(self) -> None:
        if not hasattr(self, "world"):
            return
        world = self.world
        lanes = world.scheduler._lanes
        in_hand = {one for ids in lanes._in_hand.values() for one in ids}
        problems = world.watch.problems(world.db.conn, in_hand, world.effects)
        problems += world.concluder.broken
        assert not problems, "\n".join(problems)
        for lane in world.db.read(tasks.ready_lanes):
            known = lane in lanes._ready or lane in lanes._holder
            assert known or lanes.in_hand(lane), f"nobody looks at {lane}"

    def teardown(self) -> None:
        if hasattr(self, "world"):
            try:
                self._everything_comes_back()
            finally:
                self.close()

    def close(self) -> None:
        """Leave nothing behind."""
        self.world.close()
        self.folder.cleanup()

    # ---------------------------------------------------------------------- help

    def _processes(self) -> list[str]:
        rows = self.world.db.conn.execute("SELECT id FROM process ORDER BY rowid")
        return [row[0] for row in rows]

    def _tasks(self) -> list[str]:
        rows = self.world.db.conn.execute("SELECT id FROM task ORDER BY rowid")
        return [row[0] for row in rows]

    def _pick(self, number: int) -> str:
        found = self._tasks()
        return found[number % len(found)]

    def _command(self, fn: Callable[[Tx], Changed]) -> None:
        """As `gateway.session` carries a command out."""
        try:
            changed = self.world.db.now(fn)
        except Conflict:
            return
        for call in changed.cancelled:
            self.world.router.cancel(call)
            self.world.at_server = [
                one for one in self.world.at_server if one.id != call.id
            ]

    def _from_client(self, device: Device, call_id: str, *, accept: bool) -> None:
        """A `tool-accepted` or `tool-result`; a call that moved on is not its own."""
        session_id = device.session_id
        if device.client is None or session_id is None:
            return
        try:
            if accept:
                self.world.db.now(lambda tx: call_rows.accept(tx, call_id, session_id))
            else:
                outcome = dict(device.outbox)[call_id]
                self.world.result(call_id, session_id, outcome)
        except NotFound:
            row = self.world.db.conn.execute(
                "SELECT session_id FROM call WHERE id = ?", (call_id,)
            ).fetchone()
            assert row[0] != session_id

    def _run_until_quiet(self) -> None:
        """The scheduler does all it can; each look at a lane must bring it further."""
        world = self.world
        for _ in range(DRAIN_ROUNDS):
            world.tasks.settle()
            world.collect_server_calls()
            if not world.begin_steps():
                return
        raise AssertionError("the scheduler turns in circles")

    def _everything_comes_back(self) -> None:
        """Clients, servers and answers: then every process must end."""
        world = self.world
        self._run_until_quiet()
        for device in self.devices:
            if device.client is not None:
                world.disconnect(device)
        for device in self.devices:
            world.connect(device, CLIENT_TOOLS)
        for session_id in world.timers.waiting("session"):
            world.finish(world.timers.ring("session", session_id))
        world.server_up()
        for process_id in self._processes():
            self._command(partial(control.go_on, who=OWNER, process_id=process_id))
        for _ in range(DRAIN_ROUNDS):
            self._run_until_quiet()
            self.nothing_is_wrong()
            if not self._answer_something():
                break
        left = world.db.conn.execute(
            "SELECT p.status, t.key, t.status, t.cause_kind, t.cause_key"
            " FROM process p LEFT JOIN task t"
            "  ON t.process_id = p.id AND t.ended_at IS NULL WHERE p.ended_at IS NULL"
        ).fetchall()
        assert not left, f"left behind: {[tuple(row) for row in left]}"

    def _answer_something(self) -> bool:
        """One round of answers; False when nobody has anything to answer."""
        return self._answer() or self._decide_what_only_people_can()

    def _answer(self) -> bool:
        world, busy = self.world, False
        for device in self.devices:
            while device.inbox:
                device.run("ok", world.effects)
            while device.client is not None and device.outbox:
                busy = True
                self._from_client(device, device.outbox[0][0], accept=False)
                device.outbox.pop(0)
        for call in list(world.at_server):
            busy = True
            world.server_result(call, Succeeded(result=1))
        return busy

    def _decide_what_only_people_can(self) -> bool:
        """Cancel what nobody can know, and what a robot may never have."""
        rows = self.world.db.conn.execute(
            "SELECT t.id FROM task t JOIN process p ON p.id = t.process_id"
            " WHERE cause_kind = 'outcome_unknown'"
            " OR (p.owner = 0 AND cause_kind = 'client_tool' AND cause_key LIKE '%@%')"
        ).fetchall()
        for row in rows:
            self._command(partial(control.cancel, who=OWNER, task_id=row[0]))
        return bool(rows)
