"""What each message does: one module a family, one function a message."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from vance_sdk.wire.messages import (
    handshake,
    inventory,
    memory,
    processes,
    sessions,
    tasks,
    tools,
)
from vance_sdk.wire.messages.tables import Inbound, Outbound
from vancetope.gateway.session.context import Session
from vancetope.gateway.session.handlers import (
    client_tools,
    inventory_,
    later,
    processes_,
    sessions_,
    tasks_,
)

# Each function takes the class it is listed under; the table is what pairs them.
Handler = Callable[[Session, Any], Awaitable[list[Outbound]]]

HANDLERS: Final[dict[type[Inbound], Handler]] = {
    processes.ProcessStart: processes_.start,
    processes.ProcessContinue: processes_.go_on,
    processes.ProcessPause: processes_.pause,
    processes.ProcessStop: processes_.stop,
    processes.ProcessSteer: processes_.steer,
    processes.ProcessListQuery: processes_.listed,
    processes.ProcessGetQuery: processes_.get,
    tasks.TaskListQuery: tasks_.listed,
    tasks.TaskMove: tasks_.move,
    tasks.TaskCancel: tasks_.cancel,
    tasks.TaskRerun: tasks_.rerun,
    tasks.TaskApprove: later.approve,
    tasks.WhyQuery: tasks_.why,
    memory.MemoryAdd: later.memory,
    memory.MemorySearch: later.memory,
    memory.MemoryLink: later.memory,
    tools.ToolResult: client_tools.result,
    tools.ToolAccepted: client_tools.accepted,
    tools.ToolProgress: client_tools.progress,
    tools.ToolCancelAck: client_tools.cancel_ack,
    tools.SequenceAck: client_tools.sequence_ack,
    sessions.Chat: later.chat,
    sessions.SessionBootstrapQuery: sessions_.bootstrap,
    sessions.SessionListQuery: sessions_.listed,
    sessions.InboxListQuery: sessions_.inbox,
    inventory.ToolListQuery: inventory_.tools,
    inventory.ProjectListQuery: inventory_.projects,
    inventory.ProjectCreate: inventory_.create_project,
    handshake.ClientConnected: sessions_.offers,
}


async def handle(session: Session, message: Inbound) -> list[Outbound]:
    """Do what the message asks for and give its direct answers.

    Raises:
        Exception: what `boundary.to_wire` turns into an `error` frame.
    """
    return await HANDLERS[type(message)](session, message)
