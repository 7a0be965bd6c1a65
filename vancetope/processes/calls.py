"""The only writer of call rows: park, dispatch, accept, result, unknown.

Every function runs inside one transaction and moves the call and its task together
(PROTOCOL section 3).  A decision and its reason stand on the row it made.
"""

import attrs

from vancetope.errors import NotFound
from vancetope.model import cause as causes
from vancetope.model.cause import Cause
from vancetope.model.json import Json, JsonObject
from vancetope.model.records import CallRecord, TaskRecord
from vancetope.model.status import (
    CALL_AT_WORK,
    TASK_ENDED,
    CallState,
    CauseKind,
    TaskStatus,
)
from vancetope.model.tool import Effect
from vancetope.processes.flow import Flow
from vancetope.processes.ports import ResultShaper
from vancetope.store.db import Tx
from vancetope.store.queries import calls, processes, task_writes, tasks
from vancetope.tools.clients import ConnectedClient
from vancetope.tools.outcome import Failed, FailureCode, Outcome, Succeeded
from vancetope.tools.routing import Decision, Fail, OnClient, OnServer, Park, Skip

SERVER = "server"


@attrs.frozen(kw_only=True)
class Wanted:
    """A call as a task wants it, before anybody decided where it runs.

    Attributes:
        call_id: minted for this call, used if it is a new one.
        timeout_ms: from dispatch to result.
        start_within_ms: how long it may wait for a client; None for ever.
    """

    call_id: str
    tool: str
    args: JsonObject
    args_digest: str
    effect: Effect
    timeout_ms: int
    start_within_ms: int | None = None


def begin(
    flow: Flow,
    task: TaskRecord,
    wanted: Wanted,
    decision: Decision,
    client: ConnectedClient | None,
) -> CallRecord | None:
    """Carry a decision into the store.

    Returns:
        The call that is now `dispatched` and must be sent after the commit; None when
        nothing is to be sent, also because the task has changed in the meantime.
    """
    now = tasks.get(flow.tx.conn, task.id)
    ready = now is not None and now.cause is not None
    if now is None or not ready or now.cause != task.cause:
        return None
    match decision:
        case OnServer() | OnClient():
            return _dispatch(flow, now, wanted, decision, client)
        case Park():
            _park(flow, now, wanted, decision)
        case Skip(reason=reason):
            _close(flow, now, wanted, CallState.CANCELLED, "skip", reason)
            problem: JsonObject = {"code": "skipped", "message": reason}
            flow.end(now, TaskStatus.SKIPPED, error=problem)
        case Fail(code=code, message=message):
            _close(flow, now, wanted, CallState.FAILED, "fail", message)
            flow.end(now, TaskStatus.FAILED, error={"code": code, "message": message})
    return None


def _dispatch(
    flow: Flow,
    task: TaskRecord,
    wanted: Wanted,
    decision: OnServer | OnClient,
    client: ConnectedClient | None,
) -> CallRecord | None:
    conn = flow.tx.conn
    side = SERVER if isinstance(decision, OnServer) else decision.client
    if not flow.claim(task, side):
        return None
    call = calls.open_of_task(conn, task.id)
    call_id = wanted.call_id if call is None else call.id
    if call is None:
        _insert(flow, task, wanted, CallState.DISPATCHED, "dispatch", decision.reason)
    calls.set_dispatched(
        conn,
        call_id,
        tool=decision.tool,
        decision="server" if client is None else "client",
        reason=decision.reason,
        side=side,
        session_id=None if client is None else client.session_id,
        epoch=None if client is None else client.epoch,
        journal_id=None if client is None else client.journal_id,
        now_ms=flow.tx.now_ms,
    )
    if client is not None:
        processes.set_served_by(conn, flow.process.id, client.key)
    return calls.get(conn, call_id)


def _park(flow: Flow, task: TaskRecord, wanted: Wanted, decision: Park) -> None:
    conn = flow.tx.conn
    call = calls.open_of_task(conn, task.id)
    if call is None:
        _insert(flow, task, wanted, CallState.PARKED, "park", decision.reason)
    elif call.state is CallState.PARKED:
        calls.set_state(
            conn,
            call.id,
            CallState.PARKED,
            now_ms=flow.tx.now_ms,
            decision="park",
            reason=decision.reason,
        )
    cause = Cause(
        kind=decision.cause_kind,
        what=decision.what,
        key=decision.key,
        wakes_on=decision.wakes_on,
    )
    flow.hold(task, decision.status, cause)
    for wake in decision.also:
        task_writes.add_wake(conn, kind=wake.cause_kind, key=wake.key, task_id=task.id)
    if wanted.start_within_ms is not None and task.start_by is None:
        instant = flow.tx.now_ms + wanted.start_within_ms
        task_writes.set_start_by(conn, task.id, instant)


def _insert(
    flow: Flow,
    task: TaskRecord,
    wanted: Wanted,
    state: CallState,
    decision: str,
    reason: str,
) -> None:
    calls.insert(
        flow.tx.conn,
        call_id=wanted.call_id,
        process_id=task.process_id,
        task_id=task.id,
        tool=wanted.tool,
        args=wanted.args,
        args_digest=wanted.args_digest,
        effect=wanted.effect,
        state=state,
        decision=decision,
        reason=reason,
        timeout_ms=wanted.timeout_ms,
        now_ms=flow.tx.now_ms,
    )


def _close(
    flow: Flow,
    task: TaskRecord,
    wanted: Wanted,
    state: CallState,
    decision: str,
    reason: str,
) -> None:
    """A decision that ends the call before it went anywhere."""
    call = calls.open_of_task(flow.tx.conn, task.id)
    if call is None:
        _insert(flow, task, wanted, state, decision, reason)
    else:
        error: JsonObject = {"code": decision, "message": reason}
        calls.set_ended(
            flow.tx.conn, call.id, state, now_ms=flow.tx.now_ms, error=error
        )


def accept(tx: Tx, call_id: str, session_id: str) -> None:
    """The client says it has the call (`tool-accepted`).

    Raises:
        NotFound: no such call, or not this session's.
    """
    call = _owned(tx, call_id, session_id)
    if call.state is CallState.DISPATCHED:
        calls.set_state(tx.conn, call.id, CallState.ACCEPTED, now_ms=tx.now_ms)


def client_result(
    tx: Tx, shaper: ResultShaper, call_id: str, session_id: str, outcome: Outcome
) -> None:
    """A client's `tool-result`; the caller acks it after the commit (D1, D4).

    The first terminal result wins.  One that comes again, or too late, changes
    nothing and is acked all the same.

    Raises:
        NotFound: no such call, or not this session's.
    """
    call = _owned(tx, call_id, session_id)
    if call.state in CALL_AT_WORK or call.state is CallState.UNKNOWN:
        finish(tx, shaper, call, outcome)


def server_result(tx: Tx, shaper: ResultShaper, call_id: str, outcome: Outcome) -> None:
    """The Brain's own tool, or an MCP server, has ended."""
    call = calls.get(tx.conn, call_id)
    if call is not None and call.state in CALL_AT_WORK and call.side == SERVER:
        finish(tx, shaper, call, outcome)


def _owned(tx: Tx, call_id: str, session_id: str) -> CallRecord:
    call = calls.get(tx.conn, call_id)
    if call is None or call.session_id != session_id:
        message = f"No request {call_id}"
        raise NotFound(message)
    return call


def finish(tx: Tx, shaper: ResultShaper, call: CallRecord, outcome: Outcome) -> None:
    """Write how an open call ended, and move its task in the same transaction."""
    task = tasks.get(tx.conn, call.task_id)
    with Flow.of(tx, call.process_id) as flow:
        match outcome:
            case Succeeded(result=result):
                calls.set_ended(
                    tx.conn,
                    call.id,
                    CallState.SUCCEEDED,
                    now_ms=tx.now_ms,
                    result=result,
                )
                if task is not None and task.status not in TASK_ENDED:
                    _end_done(flow, shaper, task, result)
            case Failed(code=FailureCode.OUTCOME_UNKNOWN, message=message):
                unknown(flow, call, message)
            case Failed(code=FailureCode.EXPIRED) as failure if (
                call.state in CALL_AT_WORK
            ):
                _set_back(flow, call, task, f"the client said: {failure.message}")
            case Failed() as failure:
                _end_failed(flow, call, task, failure)


def _end_done(flow: Flow, shaper: ResultShaper, task: TaskRecord, result: Json) -> None:
    shaped = shaper.shape(flow.tx.conn, task, result)
    if isinstance(shaped, Failed):
        flow.end(task, TaskStatus.FAILED, error=shaped.as_error())
    else:
        flow.end(task, TaskStatus.DONE, result=shaped)


def _end_failed(
    flow: Flow, call: CallRecord, task: TaskRecord | None, failure: Failed
) -> None:
    cancelled = failure.code is FailureCode.CANCELLED
    refused = failure.code in (FailureCode.REJECTED, FailureCode.APPROVAL_REQUIRED)
    state = CallState.REJECTED if refused else CallState.FAILED
    if call.state is CallState.UNKNOWN:
        state = CallState.FAILED
    elif cancelled:
        state = CallState.CANCELLED
    error = failure.as_error()
    calls.set_ended(flow.tx.conn, call.id, state, now_ms=flow.tx.now_ms, error=error)
    if task is not None and task.status not in TASK_ENDED:
        status = TaskStatus.CANCELLED if cancelled else TaskStatus.FAILED
        flow.end(task, status, error=error)


def _set_back(
    flow: Flow, call: CallRecord, task: TaskRecord | None, reason: str
) -> None:
    """Proven not run, or safe to run again: the call is parked and the task ready."""
    calls.set_state(
        flow.tx.conn,
        call.id,
        CallState.PARKED,
        now_ms=flow.tx.now_ms,
        decision="park",
        reason=reason,
    )
    if task is not None and task.status not in TASK_ENDED:
        flow.ready(task)


def unknown(flow: Flow, call: CallRecord, evidence: str) -> None:
    """Nobody can know whether it happened: say so, never retry by itself (D8)."""
    calls.set_state(
        flow.tx.conn,
        call.id,
        CallState.UNKNOWN,
        now_ms=flow.tx.now_ms,
        decision="unknown",
        reason=evidence,
    )
    task = tasks.get(flow.tx.conn, call.task_id)
    if task is not None and task.status not in TASK_ENDED:
        cause = causes.outcome_unknown(call.tool, evidence)
        flow.hold(task, TaskStatus.BLOCKED, cause)


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


def cancel(flow: Flow, task: TaskRecord) -> CallRecord | None:
    """End the task's open call because its task is cancelled.

    Returns:
        The call a client may be working on and has to be told about.
    """
    call = calls.open_of_task(flow.tx.conn, task.id)
    if call is None:
        return None
    state = CallState.CANCELLED
    if call.state is CallState.UNKNOWN:
        state = CallState.RESOLVED
    error: JsonObject = {"code": "cancelled", "message": f"was {call.state}"}
    calls.set_ended(flow.tx.conn, call.id, state, now_ms=flow.tx.now_ms, error=error)
    return call if call.state in CALL_AT_WORK else None


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
        _set_back(flow, call, task, "the Brain restarted; safe to run again")
    elif call.side == SERVER:
        unknown(flow, call, "the Brain stopped during the call")
    elif call.effect is Effect.ONCE and call.journal_id is None:
        unknown(flow, call, f"the Brain restarted while {call.side} had the call")
    else:
        _hold_for_client(flow, call, None)
