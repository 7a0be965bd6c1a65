"""`tool-*` from a client: it has a call, it is alive, it has a result."""

from typing import Final

from vance_sdk.wire.messages.tables import Outbound
from vance_sdk.wire.messages.tools import (
    SequenceAck,
    ToolAccepted,
    ToolCancelAck,
    ToolError,
    ToolProgress,
    ToolResult,
    ToolResultAck,
)
from vance_sdk.wire.truncate import truncated
from vancetope.gateway.session.context import Session
from vancetope.model.json import Json
from vancetope.processes import calls as call_rows
from vancetope.tools.outcome import Failed, FailureCode, Outcome, Succeeded

_CODES: Final = {code.value: code for code in FailureCode}


async def result(session: Session, message: ToolResult) -> list[Outbound]:
    """`tool-result`: acknowledged after the commit (D1)."""
    hub, call_id = session.hub, message.request_id
    outcome = outcome_of(message, hub.config.limits.inline_result_bytes)
    await hub.results.from_client(call_id, session.record.id, outcome)
    hub.timers.call_over(call_id)
    hub.router.release(call_id)
    return [ToolResultAck(request_id=call_id)] if session.vtp else []


def outcome_of(message: ToolResult, limit: int) -> Outcome:
    """What a `tool-result` says; a plain string as error has the code `failed`."""
    error = message.error
    if error is None:
        return Succeeded(result=truncated(message.result, limit))
    if isinstance(error, str):
        return Failed(code=FailureCode.FAILED, message=error)
    return Failed(
        code=_CODES.get(error.code, FailureCode.FAILED),
        message=error.message,
        detail=_detail(error),
    )


def _detail(error: ToolError) -> dict[str, Json]:
    detail: dict[str, Json] = {}
    if error.what is not None:
        detail["what"] = error.what
    if error.argv is not None:
        detail["argv"] = list(error.argv)
    if error.diff is not None:
        detail["diff"] = error.diff
    if error.digest is not None:
        detail["digest"] = error.digest
    return detail


async def accepted(session: Session, message: ToolAccepted) -> list[Outbound]:
    """`tool-accepted`."""
    await session.hub.store.write(
        lambda tx: call_rows.accept(tx, message.request_id, session.record.id)
    )
    return []


async def progress(_session: Session, _message: ToolProgress) -> list[Outbound]:
    """`tool-progress`: any frame is a sign of life already."""
    return []


async def cancel_ack(_session: Session, _message: ToolCancelAck) -> list[Outbound]:
    """`tool-cancel-ack`: the call was ended when the cancel was sent."""
    return []


async def sequence_ack(_session: Session, _message: SequenceAck) -> list[Outbound]:
    """`ack {seq}`: the client's own cursor; it names it when it resumes."""
    return []
