"""Rows of the store as frozen values; `store.queries` makes them."""

import attrs

from vancetope.model.cause import Cause
from vancetope.model.json import Json, JsonObject
from vancetope.model.status import CallState, ProcessStatus, TaskStatus
from vancetope.model.tool import Effect


@attrs.frozen(kw_only=True)
class Project:
    """A named place that sessions and processes belong to."""

    id: str
    name: str
    created_at: int


@attrs.frozen(kw_only=True)
class SessionRecord:
    """One client's standing with the Brain; outlives its connections."""

    id: str
    principal: str
    kind: str
    project_id: str
    profile: str
    client_key: str
    client_id: str
    client_name: str
    client_type: str
    journal_id: str | None
    epoch: int
    connected: bool
    created_at: int
    seen_at: int
    closed_at: int | None


@attrs.frozen(kw_only=True)
class ProcessRecord:
    """A think process, without its definition."""

    id: str
    project_id: str
    session_id: str | None
    principal: str
    owner: bool
    title: str
    goal: str
    engine: str
    workflow_id: str | None
    recipe: str | None
    connection_profile: str
    autonomous: bool
    pin: str | None
    served_by: str | None
    status: ProcessStatus
    open_tasks: int
    has_failed: bool
    created_at: int
    changed_at: int
    ended_at: int | None


@attrs.frozen(kw_only=True)
class TaskRecord:
    """A node of the task tree, without its result."""

    id: str
    process_id: str
    parent_id: str | None
    node: str
    key: str
    goal: str
    tool: str | None
    rank: float
    item_index: int | None
    continue_on_error: bool
    open_deps: int
    open_children: int
    status: TaskStatus
    cause: Cause | None
    side: str | None
    start_by: int | None
    started_at: int | None
    ended_at: int | None


@attrs.frozen(kw_only=True)
class CallRecord:
    """One tool invocation; its id is the `request_id` on the wire."""

    id: str
    process_id: str
    task_id: str
    tool: str
    args: JsonObject
    args_digest: str
    effect: Effect
    state: CallState
    decision: str
    reason: str
    side: str | None
    session_id: str | None
    epoch: int | None
    journal_id: str | None
    attempt: int
    timeout_ms: int
    result: Json
    error: JsonObject | None
    created_at: int
    dispatched_at: int | None
    accepted_at: int | None
    ended_at: int | None
