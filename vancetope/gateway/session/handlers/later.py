"""Messages whose capability is not there yet: an honest answer, never silence."""

from typing import NoReturn

from vance_sdk.wire.messages.memory import MemoryAdd, MemoryLink, MemorySearch
from vance_sdk.wire.messages.sessions import Chat
from vance_sdk.wire.messages.tables import Outbound
from vance_sdk.wire.messages.tasks import TaskApprove
from vancetope.errors import Unavailable
from vancetope.gateway.session.context import Session
from vancetope.processes.commands.access import task_for


def _not_yet(what: str, fix: str) -> NoReturn:
    message = f"This version of the Brain has no {what}"
    raise Unavailable(message, fix=fix)


async def memory(
    _session: Session, _message: MemoryAdd | MemorySearch | MemoryLink
) -> list[Outbound]:
    """`memory-add`, `memory-search`, `memory-link`."""
    _not_yet("memory", "Keep the documents in a folder and start the workflow `digest`")


async def chat(_session: Session, _message: Chat) -> list[Outbound]:
    """`chat`."""
    _not_yet("model to chat with", "Start a workflow with process-start")


async def approve(session: Session, message: TaskApprove) -> list[Outbound]:
    """`task-approve`."""
    session.hub.store.read(lambda conn: task_for(conn, session.who, message.task_id))
    _not_yet("approvals", "Use task-rerun or task-cancel")
