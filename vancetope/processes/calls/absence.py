"""Calls whose client, time or Brain has gone: held, parked, or honestly unknown."""

import attrs

from vancetope.model import cause as causes
from vancetope.model.json import JsonObject
from vancetope.model.records import CallRecord, TaskRecord
from vancetope.model.status import (
    CALL_AT_WORK,
    TASK_ENDED,
    CallState,
    CauseKind,
    TaskStatus,
)
from vancetope.model.tool import Effect
from vancetope.processes.calls.dispatch import SERVER
from vancetope.processes.calls.results import set_back, unknown
from vancetope.processes.flow import Flow
from vancetope.store.db import Tx
from vancetope.store.queries import calls, task_writes, tasks


def dropped(tx: Tx, session_id: str) -> None:
    """The session's connection is gone: its tasks are held at once (D7).

    A `once` call of a client without a journal becomes `unknown`; every other call
    keeps its state until the client is back or the resume window ends.
    """
    for process_id, open_calls in _by_process(calls.at_work(tx.conn, session_id)):
        with Flow.of(tx, process_id) as flow:
            for call in open_calls:
                if call.effect is Effect.ONCE and call.journal_id is None:
                    unknown(flow, call, f"client {call.side} dropped during the call")
                else:
                    _hold_for_client(flow, call, None)


def _by_process(found: list[CallRecord]) -> list[tuple[str, list[CallRecord]]]:
    grouped: dict[str, list[CallRecord]] = {}
    for call in found:
        grouped.setdefault(call.process_id, []).append(call)
    return list(grouped.items())


def _hold_for_client(flow: Flow, call: CallRecord, note: str | None) -> None:
    task = tasks.get(flow.tx.conn, call.task_id)
    if task is None or task.status in TASK_ENDED:
        return
    cause = causes.client_tool(call.tool)
    if note:
        cause = attrs.evolve(cause, what=f"{cause.what} ({note})")
    queued = flow.process.autonomous
    flow.hold(task, TaskStatus.QUEUED if queued else TaskStatus.BLOCKED, cause)


def window_ended(tx: Tx, session_id: str) -> None:
    """The client did not come back in time: park what is safe, say what is not."""
    for process_id, open_calls in _by_process(calls.at_work(tx.conn, session_id)):
        with Flow.of(tx, process_id) as flow:
            for call in open_calls:
                if call.effect is Effect.ONCE:
                    unknown(flow, call, f"client {call.side} did not come back")
                else:
                    calls.set_state(
                        tx.conn,
                        call.id,
                        CallState.PARKED,
                        now_ms=tx.now_ms,
                        decision="park",
                        reason="the resume window ended; safe to run again",
                    )


def overdue(tx: Tx, call_id: str, after: str) -> None:
    """A call past its deadline is not `running` (D5).

    Args:
        tx: the transaction.
        call_id: the call.
        after: how long it had, for people (`10m`).
    """
    call = calls.get(tx.conn, call_id)
    if call is None or call.state not in CALL_AT_WORK:
        return
    with Flow.of(tx, call.process_id) as flow:
        note = f"{call.side} did not answer within {after}"
        if call.effect is Effect.ONCE:
            unknown(flow, call, note)
            return
        calls.set_state(
            tx.conn,
            call.id,
            CallState.PARKED,
            now_ms=tx.now_ms,
            decision="park",
            reason=f"{note}; safe to run again",
        )
        _hold_for_client(flow, call, note)


def expire(tx: Tx, task: TaskRecord) -> None:
    """`start_within` is over: the parked call and its task fail."""
    waits = task.cause is not None and task.cause.kind is CauseKind.CLIENT_TOOL
    task_writes.set_start_by(tx.conn, task.id, None)
    if not waits or task.status in TASK_ENDED:
        return
    with Flow.of(tx, task.process_id) as flow:
        call = calls.open_of_task(tx.conn, task.id)
        what = task.cause.what if task.cause else ""
        error: JsonObject = {
            "code": "expired",
            "message": f"{what}: start_within is over",
        }
        if call is not None and call.state is CallState.PARKED:
            calls.set_ended(
                tx.conn, call.id, CallState.EXPIRED, now_ms=tx.now_ms, error=error
            )
        elif call is not None:
            return
        flow.end(task, TaskStatus.FAILED, error=error)


def recover(tx: Tx) -> int:
    """Reconcile what was running when the Brain stopped.

    A client's calls are treated like those of a dropped connection.  What ran in the
    Brain died with it: it runs again if that is safe, else nobody can know.

    Returns:
        How many running tasks were found.
    """
    found = tasks.running(tx.conn)
    by_process: dict[str, list[TaskRecord]] = {}
    for task in found:
        by_process.setdefault(task.process_id, []).append(task)
    for process_id, lost in by_process.items():
        with Flow.of(tx, process_id) as flow:
            for task in lost:
                _recover_one(flow, task)
    return len(found)


def _recover_one(flow: Flow, task: TaskRecord) -> None:
    call = calls.open_of_task(flow.tx.conn, task.id)
    if call is None or call.state is CallState.PARKED:
        flow.ready(task)
    elif call.state is CallState.UNKNOWN:
        unknown(flow, call, call.reason)
    elif call.side == SERVER and call.effect is not Effect.ONCE:
        set_back(flow, call, task, "the Brain restarted; safe to run again")
    elif call.side == SERVER:
        unknown(flow, call, "the Brain stopped during the call")
    elif call.effect is Effect.ONCE and call.journal_id is None:
        unknown(flow, call, f"the Brain restarted while {call.side} had the call")
    else:
        _hold_for_client(flow, call, None)
