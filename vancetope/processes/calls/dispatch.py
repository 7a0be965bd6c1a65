"""A decision becomes a call: dispatched, parked, or ended before it began."""

from typing import Final

import attrs

from vancetope.model import cause as causes
from vancetope.model.cause import Cause
from vancetope.model.json import JsonObject
from vancetope.model.records import CallRecord, TaskRecord
from vancetope.model.status import TASK_ENDED, CallState, CauseKind, TaskStatus
from vancetope.model.tool import Effect
from vancetope.processes.flow import Flow
from vancetope.store.queries import calls, processes, sessions, task_writes, tasks
from vancetope.store.queries.calls import Sending
from vancetope.tools.clients import ConnectedClient
from vancetope.tools.routing import Decision, Fail, OnClient, OnServer, Park, Skip

SERVER: Final = "server"
#: The code of a call whose client will not come back.
CLIENT_GONE: Final = "client_gone"


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
    if isinstance(decision, OnServer | OnClient):
        return _dispatch(flow, task, wanted, decision, client)
    now = tasks.get(flow.tx.conn, task.id)
    if now is None or now.cause is None or now.cause != task.cause:
        return None
    match decision:
        case Park() if _has_gone(flow, decision):
            _close(flow, now, wanted, CallState.FAILED, CLIENT_GONE, decision.what)
            message = f"{decision.what}: its client has gone"
            error: JsonObject = {"code": CLIENT_GONE, "message": message}
            flow.end(now, TaskStatus.FAILED, error=error)
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
    call = calls.open_of_task(conn, task.id)
    if call is not None and not _may_go_to(call, client):
        hold_for_client(flow, call, None)
        return None
    if not flow.claim(task, side):
        return None
    call_id = wanted.call_id if call is None else call.id
    if call is None:
        _insert(flow, task, wanted, CallState.DISPATCHED, "dispatch", decision.reason)
    elif call.state is CallState.ACCEPTED:
        # It leaves again (D3): whoever gets it now has not accepted it yet.
        calls.set_state(conn, call_id, CallState.PARKED, now_ms=flow.tx.now_ms)
    sent = Sending(
        tool=decision.tool,
        effect=wanted.effect,
        decision="server" if client is None else "client",
        reason=decision.reason,
        side=side,
        session_id=None if client is None else client.session_id,
        epoch=None if client is None else client.epoch,
        journal_id=None if client is None else client.journal_id,
    )
    calls.set_dispatched(conn, call_id, sent, flow.tx.now_ms)
    if client is not None and client.key != flow.process.served_by:
        processes.set_served_by(conn, flow.process.id, client.key)
    return calls.get(conn, call_id)


def _has_gone(flow: Flow, decision: Park) -> bool:
    """Whether only the client of a closed robot session could serve this."""
    process = flow.process
    if process.owner or decision.cause_kind is not CauseKind.CLIENT_TOOL:
        return False
    session = sessions.get(flow.tx.conn, process.session_id or "")
    return session is None or session.closed_at is not None


def must_not_move(call: CallRecord) -> bool:
    """Whether only the client that was sent the call may have it again (D3)."""
    return call.effect is Effect.ONCE and call.state is not CallState.PARKED


def _may_go_to(call: CallRecord, client: ConnectedClient | None) -> bool:
    """Whether an open call may leave for this side."""
    if not must_not_move(call):
        return True
    same = client is not None and client.journal_id == call.journal_id
    return same and call.journal_id is not None


def hold_for_client(flow: Flow, call: CallRecord, note: str | None) -> None:
    """The call waits for a client; a begun `once` call for the one that has it."""
    task = tasks.get(flow.tx.conn, call.task_id)
    if task is None or task.status in TASK_ENDED:
        return
    cause = causes.client_tool(call.tool, call.side if must_not_move(call) else None)
    # Whatever it is called when it comes back: its journal is what tells it.
    cause = attrs.evolve(cause, key=call.tool)
    if note:
        cause = attrs.evolve(cause, what=f"{cause.what} ({note})")
    queued = flow.process.autonomous
    flow.hold(task, TaskStatus.QUEUED if queued else TaskStatus.BLOCKED, cause)


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
        # One that was parked has never failed anywhere.
        state = CallState.CANCELLED if call.state is CallState.PARKED else state
        calls.set_ended(
            flow.tx.conn, call.id, state, now_ms=flow.tx.now_ms, error=error
        )
