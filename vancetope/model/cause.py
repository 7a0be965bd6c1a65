"""Why a task is not running: one cause, what it waits for, what ends it."""

import attrs

from vancetope.model.status import CauseKind


@attrs.frozen(kw_only=True)
class Cause:
    """The machine-readable reason (PROTOCOL section 2, `cause`).

    `key` names the thing waited for (a tool, a task, a server), `wakes_on` the
    event that ends the wait; `since` is UTC epoch milliseconds.
    """

    kind: CauseKind
    what: str
    key: str | None = None
    wakes_on: str = ""
    since: int = 0


READY = Cause(kind=CauseKind.READY, what="Ready to run", wakes_on="a free slot")
CHILDREN = Cause(
    kind=CauseKind.CHILDREN,
    what="Waiting for its subtasks",
    wakes_on="the last one ends",
)
PAUSED = Cause(
    kind=CauseKind.PAUSED, what="The process is paused", wakes_on="process-continue"
)


def dependency(key: str) -> Cause:
    """Waiting for the task with this key."""
    return Cause(
        kind=CauseKind.DEPENDENCY,
        what=f"Waiting for Task: {key}",
        key=key,
        wakes_on=f"task {key} ends",
    )


def client_tool(tool: str, client: str | None = None) -> Cause:
    """Waiting for a client that brings the tool (seed 000 section 4)."""
    who = f"Client {client}" if client else "Client"
    return Cause(
        kind=CauseKind.CLIENT_TOOL,
        what=f"Waiting for {who} for Tool: {tool}",
        key=f"{tool}@{client}" if client else tool,
        wakes_on=f"a client that offers {tool} connects",
    )


def outcome_unknown(tool: str, evidence: str) -> Cause:
    """Nobody can know whether a `once` call happened (PROTOCOL section 3, D8)."""
    return Cause(
        kind=CauseKind.OUTCOME_UNKNOWN,
        what=f"Outcome unknown of Tool: {tool} ({evidence})",
        key=tool,
        wakes_on="a late result, or task-cancel",
    )
