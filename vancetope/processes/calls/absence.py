"""Calls whose client, time or Brain has gone: held, parked, or honestly unknown."""

from typing import Final

from vancetope.model.json import JsonObject
from vancetope.model.principal import PrincipalKind
from vancetope.model.records import CallRecord, TaskRecord
from vancetope.model.status import (
    CALL_AT_WORK,
    CallState,
    CauseKind,
    TaskStatus,
)
from vancetope.model.tool import Effect
from vancetope.processes.calls.dispatch import CLIENT_GONE, SERVER, hold_for_client
from vancetope.processes.calls.results import end_failed, finish, set_back, unknown
from vancetope.processes.flow import Flow
from vancetope.store.db import Tx
from vancetope.store.queries import calls, sessions, task_writes, tasks
from vancetope.tools.outcome import Failed, FailureCode

#: How often a client may drop during one call before its task fails.
DROPS: Final = 50


def dropped(tx: Tx, session_id: str, epoch: int) -> None:
    """A connection of the session is gone: its tasks are held at once (D7).

    A `once` call of a client without a journal becomes `unknown`; every other call
    keeps its state until the client is back or the resume window ends.

    Args:
        tx: the transaction.
        session_id: the session.
        epoch: the connection's; calls of a later one are left alone.
    """
    at_work = calls.at_work(tx.conn, session_id)
    lost = [call for call in at_work if (call.epoch or 0) <= epoch]
    for process_id, open_calls in _by_process(lost):
        with Flow.of(tx, process_id) as flow:
            for call in open_calls:
                if call.effect is Effect.ONCE and call.journal_id is None:
                    unknown(flow, call, f"client {call.side} dropped during the call")
                elif call.attempt >= DROPS:
                    text = f"client {call.side} dropped {call.attempt} times during it"
                    failure = Failed(code=FailureCode.FAILED, message=text)
                    end_failed(flow, call, tasks.get(tx.conn, call.task_id), failure)
                else:
                    hold_for_client(flow, call, None)


def over_limit(tx: Tx, session_id: str, limit: int) -> None:
    """The session's client was cut off because of a frame over the limit.

    With one call under way that frame was its result: sent again it would be as long.
    """
    at_work = calls.at_work(tx.conn, session_id)
    if len(at_work) == 1:
        text = f"the result is in a frame over the limit of {limit} bytes"
        finish(tx, at_work[0], Failed(code=FailureCode.FAILED, message=text))


def not_sent(tx: Tx, sent: CallRecord) -> None:
    """The call was committed as dispatched but has never left: it is decided anew.

    Args:
        tx: the transaction.
        sent: the call as it was committed; nothing changes if it was sent again since.
    """
    call = calls.get(tx.conn, sent.id)
    if call is None or call.attempt != sent.attempt:
        return
    if call.state not in (*CALL_AT_WORK, CallState.UNKNOWN):
        return
    task = tasks.get(tx.conn, call.task_id)
    with Flow.of(tx, call.process_id) as flow:
        reason = "the client left before the call was sent"
        if call.attempt == 1 or call.effect is not Effect.ONCE:
            set_back(flow, call, task, reason)
        elif call.state is not CallState.UNKNOWN:
            hold_for_client(flow, call, None)


def journal_lost(tx: Tx, session_id: str) -> None:
    """The session's client came back with another journal: it cannot tell (D2)."""
    for process_id, open_calls in _by_process(calls.at_work(tx.conn, session_id)):
        with Flow.of(tx, process_id) as flow:
            for call in open_calls:
                if call.effect is Effect.ONCE and call.journal_id is not None:
                    unknown(flow, call, f"client {call.side} has lost its journal")


def client_gone(tx: Tx, session_id: str) -> None:
    """A robot's session is closed: what its processes wait for will never come.

    Their calls end with `client_gone`; one that may have happened is `unknown`.
    """
    for process_id, waiting in _tasks_of_session(tx, session_id):
        with Flow.of(tx, process_id) as flow:
            for task in waiting:
                call = calls.open_of_task(tx.conn, task.id)
                if call and call.state in CALL_AT_WORK and call.effect is Effect.ONCE:
                    unknown(flow, call, f"client {call.side} has gone")
                else:
                    _fail_gone(flow, task, call)


def _tasks_of_session(tx: Tx, session_id: str) -> list[tuple[str, list[TaskRecord]]]:
    found: dict[str, list[TaskRecord]] = {}
    for task in tasks.of_session_with_cause(tx.conn, session_id, CauseKind.CLIENT_TOOL):
        found.setdefault(task.process_id, []).append(task)
    return list(found.items())


def _fail_gone(flow: Flow, task: TaskRecord, call: CallRecord | None) -> None:
    what = task.cause.what if task.cause else ""
    message = f"{what}: its client has gone"
    error: JsonObject = {"code": CLIENT_GONE, "message": message}
    if call is not None:
        parked = call.state is CallState.PARKED
        state = CallState.CANCELLED if parked else CallState.FAILED
        calls.set_ended(
            flow.tx.conn, call.id, state, now_ms=flow.tx.now_ms, error=error
        )
    flow.end(task, TaskStatus.FAILED, error=error)


def _by_process(found: list[CallRecord]) -> list[tuple[str, list[CallRecord]]]:
    grouped: dict[str, list[CallRecord]] = {}
    for call in found:
        grouped.setdefault(call.process_id, []).append(call)
    return list(grouped.items())


def window_ended(tx: Tx, session_id: str) -> None:
    """The client did not come back in time: park what is safe, say what is not.

    What is parked is decided anew, since another client may have it by now.  A
    robot's session is closed.
    """
    session = sessions.get(tx.conn, session_id)
    if session is None or session.connected:
        return
    for process_id, open_calls in _by_process(calls.at_work(tx.conn, session_id)):
        with Flow.of(tx, process_id) as flow:
            for call in open_calls:
                if call.effect is Effect.ONCE:
                    unknown(flow, call, f"client {call.side} did not come back")
                else:
                    task = tasks.get(tx.conn, call.task_id)
                    reason = "the resume window ended; safe to run again"
                    set_back(flow, call, task, reason)
    if session.kind == PrincipalKind.ROBOT.value and session.closed_at is None:
        sessions.close(tx.conn, session_id, tx.now_ms)
        client_gone(tx, session_id)


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
        session = sessions.get(tx.conn, call.session_id or "")
        if session is None or not session.connected:
            task = tasks.get(tx.conn, call.task_id)
            set_back(flow, call, task, f"{note}; safe to run again")
            return
        # Not asked again at once: it would be the same silent client.
        calls.set_state(
            tx.conn,
            call.id,
            CallState.PARKED,
            now_ms=tx.now_ms,
            decision="park",
            reason=f"{note}; safe to run again",
        )
        hold_for_client(flow, call, note)


def expire(tx: Tx, task_id: str) -> None:
    """`start_within` is over: the parked call and its task fail."""
    task = tasks.get(tx.conn, task_id)
    if task is None or task.start_by is None or task.start_by > tx.now_ms:
        return  # it has begun or ended in the meantime
    task_writes.set_start_by(tx.conn, task.id, None)
    if task.cause is None or task.cause.kind is not CauseKind.CLIENT_TOOL:
        return
    with Flow.of(tx, task.process_id) as flow:
        call = calls.open_of_task(tx.conn, task.id)
        error: JsonObject = {
            "code": "expired",
            "message": f"{task.cause.what}: start_within is over",
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
        hold_for_client(flow, call, None)
