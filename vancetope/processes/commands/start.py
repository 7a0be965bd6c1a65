"""Start a think process: a snapshot of its definition and every planned task."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import attrs

from vancetope.clock import Clock
from vancetope.errors import Conflict, NotFound, Unavailable
from vancetope.model import cause as causes
from vancetope.model import ids
from vancetope.model.json import JsonObject
from vancetope.model.principal import Principal
from vancetope.model.records import ProcessRecord
from vancetope.model.status import ProcessStatus
from vancetope.processes.engines.base import Engine, PlannedTask
from vancetope.processes.flow import Flow
from vancetope.processes.workflows.definition import Workflow, to_json
from vancetope.processes.workflows.inputs import resolve_inputs
from vancetope.processes.workflows.library import WorkflowLibrary
from vancetope.store.db import Store, Tx
from vancetope.store.queries import processes, task_writes

#: A hint, before any other about the process: this Brain has started it.
STARTED: Final = "process.started"
TITLE_CHARS: Final = 80
#: Tasks and dependencies of a plan that is written on the writer's thread.
LARGE_PLAN: Final = 200
NO_MODEL: Final = "A free goal needs a model, and this version of the Brain has none"
NO_MODEL_FIX: Final = "Name a workflow, as in `vancetope run digest`"
#: How many workflows are named to who has named none of them.
LISTED: Final = 20


#: Runs what reads a file where it holds up nobody; a seam, like `store.runner`.
ReadFile = Callable[[Callable[[], Workflow | None]], Awaitable[Workflow | None]]


@attrs.frozen(kw_only=True)
class StartRequest:
    """What somebody wants to be done.

    Attributes:
        profile: the connection profile (`default` for cron, webhook and MCP).
        autonomous: nobody is there; client tools are queued instead of blocked.
    """

    goal: str
    project_id: str
    session_id: str | None
    profile: str
    workflow_id: str | None = None
    given: JsonObject = attrs.field(factory=dict)
    recipe: str | None = None
    idempotency_key: str | None = None
    autonomous: bool = False


@attrs.define(eq=False)
class Starter:
    """Starts processes; what it needs from the rooms around it."""

    store: Store
    clock: Clock
    library: WorkflowLibrary
    engine: Engine
    read: ReadFile

    async def start(self, who: Principal, request: StartRequest) -> ProcessRecord:
        """Start a process, or find the one started under the same key.

        Raises:
            NotFound: no such workflow; the nearest name is in `context.nearest`.
            Unavailable: a free goal without a model; a recipe.
            Conflict: the key was used for another workflow.
            BadMessage: an input is missing or unknown.
            ConfigError: the workflow's file is broken and has no good version.
        """
        if request.recipe is not None:
            message = "Recipes come with a later version"
            raise Unavailable(message, fix="Leave `recipe` out")
        if request.workflow_id is None:
            raise Unavailable(NO_MODEL, fix=NO_MODEL_FIX)
        # A large file takes its time to be parsed.
        wanted = partial(self.library.get, request.workflow_id)
        workflow = await self.read(wanted)
        if workflow is None:
            raise self._no_such(request.workflow_id)
        given = resolve_inputs(workflow, request.given)
        definition = to_json(workflow)
        plan = self.engine.plan(definition)
        record = self._record(who, request, workflow.id, workflow.goal, len(plan))
        size = len(plan) + sum(len(node.depends_on) for node in plan)
        return await self.store.write(
            lambda tx: self._insert(tx, record, request, definition, given, plan),
            long=size > LARGE_PLAN,
        )

    def _no_such(self, workflow_id: str) -> NotFound:
        near = self.library.nearest(workflow_id)
        hint = f"; did you mean {near}?" if near else f". {self._there_are()}"
        message = f"No workflow {workflow_id}{hint}"
        return NotFound(message, context={"nearest": near})

    def _there_are(self) -> str:
        names = self.library.names()
        shown = names[:LISTED] + (["..."] if len(names) > LISTED else [])
        return f"Workflows: {', '.join(shown) or 'none'}"

    def _record(
        self,
        who: Principal,
        request: StartRequest,
        workflow_id: str,
        workflow_goal: str,
        tasks: int,
    ) -> ProcessRecord:
        now = self.clock.now_ms()
        goal = request.goal.strip() or workflow_goal
        first_line = goal.strip().splitlines()[0] if goal.strip() else workflow_id
        return ProcessRecord(
            id=ids.new_id(ids.PROCESS, self.clock),
            project_id=request.project_id,
            session_id=request.session_id,
            principal=who.id,
            owner=who.is_owner,
            title=first_line[:TITLE_CHARS],
            goal=goal,
            engine=self.engine.name,
            workflow_id=workflow_id,
            recipe=request.recipe,
            connection_profile=request.profile,
            autonomous=request.autonomous,
            pin=None,
            served_by=None,
            status=ProcessStatus.RUNNING,
            open_tasks=tasks,
            has_failed=False,
            created_at=now,
            changed_at=now,
            ended_at=None,
        )

    def _insert(
        self,
        tx: Tx,
        record: ProcessRecord,
        request: StartRequest,
        definition: JsonObject,
        given: JsonObject,
        plan: tuple[PlannedTask, ...],
    ) -> ProcessRecord:
        key = request.idempotency_key
        if key is not None:
            earlier = processes.by_idempotency_key(tx.conn, record.principal, key)
            if earlier is not None:
                if earlier.workflow_id != record.workflow_id:
                    message = f"The key was used for workflow {earlier.workflow_id}"
                    raise Conflict(message)
                return earlier
        processes.ensure_project(
            tx.conn, record.project_id, record.project_id, tx.now_ms
        )
        processes.insert(
            tx.conn, record, definition=definition, given=given, idempotency_key=key
        )
        tx.hint(STARTED, process_id=record.id)
        with Flow.of(tx, record.id) as flow:
            flow.process_changed()
            self._insert_tasks(tx, flow, plan)
        return record

    def _insert_tasks(self, tx: Tx, flow: Flow, plan: tuple[PlannedTask, ...]) -> None:
        task_ids = {node.node: ids.new_id(ids.TASK, self.clock) for node in plan}
        places = {node.node: place for place, node in enumerate(plan)}
        for rank, node in enumerate(plan, 1):
            awaited = [on for on, _ in node.depends_on]
            last = max(awaited, key=places.__getitem__, default=None)
            cause = causes.READY if last is None else causes.dependency(last)
            task_writes.insert(
                tx.conn,
                task_id=task_ids[node.node],
                process_id=flow.process.id,
                parent_id=None,
                node=node.node,
                key=node.node,
                goal=node.goal,
                tool=node.tool,
                rank=float(rank),
                item=None,
                item_index=None,
                continue_on_error=node.continue_on_error,
                open_deps=len(node.depends_on),
                cause=cause,
                now_ms=tx.now_ms,
            )
            if last is None:
                flow.lane_ready(node.node)
        for node in plan:
            for on, uses in node.depends_on:
                task_writes.add_dependency(
                    tx.conn,
                    on_task_id=task_ids[on],
                    task_id=task_ids[node.node],
                    uses=uses,
                )
