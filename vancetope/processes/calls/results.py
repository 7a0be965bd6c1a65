"""A call's result is written, and its task moved, in one transaction."""

from typing import Final

from vancetope.errors import NotFound
from vancetope.model import cause as causes
from vancetope.model.json import JsonObject
from vancetope.model.records import CallRecord, TaskRecord
from vancetope.model.status import CALL_AT_WORK, TASK_ENDED, CallState, TaskStatus
from vancetope.model.tool import Effect
from vancetope.processes.calls.dispatch import SERVER
from vancetope.processes.flow import Flow
from vancetope.store.db import Tx
from vancetope.store.queries import calls, tasks
from vancetope.tools.outcome import Failed, FailureCode, Outcome, Succeeded

#: How often a call is sent to clients that give it back before its task fails.
ATTEMPTS: Final = 10


def accept(tx: Tx, call_id: str, session_id: str) -> None:
    """The client says it has the call (`tool-accepted`).

    Raises:
        NotFound: no such call, or not this session's.
    """
    call = _owned(tx, call_id, session_id)
    if call.state is CallState.DISPATCHED:
        calls.set_state(tx.conn, call.id, CallState.ACCEPTED, now_ms=tx.now_ms)


def client_result(tx: Tx, call_id: str, session_id: str, outcome: Outcome) -> None:
    """A client's `tool-result`; the caller acks it after the commit (D1, D4).

    The first terminal result wins.  One that comes again, or too late, changes
    nothing and is acked all the same.

    Raises:
        NotFound: no such call, or not this session's.
    """
    call = _owned(tx, call_id, session_id)
    if call.state in CALL_AT_WORK or call.state is CallState.UNKNOWN:
        finish(tx, call, outcome)


def server_result(tx: Tx, call_id: str, outcome: Outcome) -> None:
    """The Brain's own tool, or an MCP server, has ended."""
    call = calls.get(tx.conn, call_id)
    if call is not None and call.state in CALL_AT_WORK and call.side == SERVER:
        finish(tx, call, outcome)


def _owned(tx: Tx, call_id: str, session_id: str) -> CallRecord:
    call = calls.get(tx.conn, call_id)
    if call is None or call.session_id != session_id:
        message = f"No request {call_id}"
        raise NotFound(message)
    return call


def finish(tx: Tx, call: CallRecord, outcome: Outcome) -> None:
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
                    flow.end(task, TaskStatus.DONE, result=result)
            case Failed(code=FailureCode.OUTCOME_UNKNOWN, message=message) if (
                call.effect is Effect.ONCE
            ):
                unknown(flow, call, message)
            case (
                Failed(
                    code=FailureCode.EXPIRED | FailureCode.OUTCOME_UNKNOWN
                ) as failure
            ) if call.attempt < ATTEMPTS:
                # `expired` proves that nothing ran, also to one that was unknown by
                # then; an unknown outcome of any other effect is safe to run again.
                set_back(flow, call, task, f"the client said: {failure.message}")
            case Failed() as failure:
                end_failed(flow, call, task, failure)


def end_failed(
    flow: Flow, call: CallRecord, task: TaskRecord | None, failure: Failed
) -> None:
    """The call has ended without a result, and its task with it."""
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


def set_back(
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
