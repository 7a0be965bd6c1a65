"""Where a call runs: one pure, total decision (seed 000 section 4, DESIGN section 5).

The caller gathers what is true now (which client, which server, whose rules) into a
`Question`; `decide` answers.  Every answer carries the rule that made it, in words.
"""

from enum import StrEnum
from typing import Final, TypeAlias

import attrs

from vancetope.model.status import CauseKind, TaskStatus
from vancetope.model.tool import Prefer, Strategy, Target, ToolSpec
from vancetope.tools.registry import Address

UNKNOWN_TOOL: Final = "unknown_tool"
WRONG_TARGET: Final = "wrong_target"
NO_SERVER_COPY: Final = "no_server_copy"


class ServerState(StrEnum):
    """The Brain's copy of a tool: none, usable now, or configured but not up."""

    ABSENT = "absent"
    UP = "up"
    DOWN = "down"


@attrs.frozen(kw_only=True)
class Fallback:
    """The tool's `fallback_tool` as it stands now.

    Attributes:
        client: key of its first eligible client, or None.
    """

    spec: ToolSpec
    server: ServerState = ServerState.ABSENT
    client: str | None = None


@attrs.frozen(kw_only=True)
class Question:
    """Everything a decision depends on.

    Attributes:
        spec: None for a tool that nobody ever knew.
        pin: key of the only client the process may use; unlike `tool@client` it
            does not take the server away.
        client: key of the first eligible candidate, or None.
        server: the state of the server's copy.
        fallback: None when there is no `fallback_tool` or it is unknown.
    """

    address: Address
    spec: ToolSpec | None
    target: Target = Target.AUTO
    task_strategy: Strategy | None = None
    recipe_strategy: Strategy | None = None
    autonomous: bool = False
    auto_fallback: bool = True
    pin: str | None = None
    client: str | None = None
    server: ServerState = ServerState.ABSENT
    fallback: Fallback | None = None


@attrs.frozen(kw_only=True)
class OnServer:
    """Run `tool` (which may be the fallback tool) in the Brain."""

    tool: str
    reason: str


@attrs.frozen(kw_only=True)
class OnClient:
    """Send `tool` (which may be the fallback tool) to the client of that key."""

    tool: str
    client: str
    reason: str


@attrs.frozen(kw_only=True)
class Wake:
    """What a parked task waits for: `tool`, `tool@client` or a server's name."""

    cause_kind: CauseKind
    key: str


@attrs.frozen(kw_only=True)
class Park:
    """Wait.  `cause_kind`, `what`, `key` and `wakes_on` are the task's one cause.

    Attributes:
        also: other changes after which it is worth asking again.
    """

    status: TaskStatus
    cause_kind: CauseKind
    what: str
    key: str
    wakes_on: str
    reason: str
    also: tuple[Wake, ...] = ()


@attrs.frozen(kw_only=True)
class Skip:
    """The task is skipped, with result null."""

    reason: str


@attrs.frozen(kw_only=True)
class Fail:
    """No event can make this run: the task fails at once."""

    code: str
    message: str


Run: TypeAlias = OnServer | OnClient
Decision: TypeAlias = OnServer | OnClient | Park | Skip | Fail


def decide(q: Question) -> Decision:
    """Where this call runs, or why it does not.  Total: it never raises."""
    spec = q.spec
    if spec is None:
        message = (
            f"Tool {q.address.tool} is unknown: it is not in tools.yaml "
            "and no client ever offered it"
        )
        return Fail(code=UNKNOWN_TOOL, message=message)
    target = Target.CLIENT if q.address.client else q.target
    if q.address.client and q.target is Target.SERVER:
        message = f"{q.address} names a client, but the execution target is server"
        return Fail(code=WRONG_TARGET, message=message)
    if target is Target.CLIENT and not spec.on_client:
        message = f"Tool {spec.name} runs on the server only, a client was asked for"
        return Fail(code=WRONG_TARGET, message=message)
    if target is Target.SERVER and not spec.on_server:
        message = f"Tool {spec.name} runs on clients only, the server was asked for"
        return Fail(code=WRONG_TARGET, message=message)
    why = f"location {spec.location}"
    if target in {Target.CLIENT, Target.SERVER}:
        why = f"target {target}, {why}"
    if target is Target.SERVER or not spec.on_client:
        return _server_only(q, spec, why)
    if target is Target.CLIENT or not spec.on_server:
        client = _client(q)
        return _on_client(q, client, why) if client else _client_away(q, spec, why)
    return _either_side(q, spec)


def effective_strategy(q: Question) -> tuple[Strategy, str]:
    """The strategy for an absent client, and who says so: task, tool, recipe, mode."""
    if q.task_strategy is not None:
        return q.task_strategy, "task"
    if q.spec is not None and q.spec.offline_strategy is not None:
        return q.spec.offline_strategy, "tool"
    if q.recipe_strategy is not None:
        return q.recipe_strategy, "recipe"
    if q.autonomous:
        return Strategy.QUEUE, "autonomous run"
    return Strategy.BLOCK, "default"


def _server_only(q: Question, spec: ToolSpec, why: str) -> Decision:
    if q.server is ServerState.UP:
        return OnServer(tool=spec.name, reason=f"{why}, server up")
    if q.server is ServerState.ABSENT and spec.mcp_server is None:
        message = f"Tool {spec.name} has no server copy in this Brain"
        return Fail(code=NO_SERVER_COPY, message=message)
    return _park_for_server(spec, f"{why}, server {q.server}")


def _either_side(q: Question, spec: ToolSpec) -> Decision:
    client = _client(q)
    prefer = spec.prefer or Prefer.SERVER
    why = f"prefer {prefer}"
    if prefer is Prefer.CLIENT:
        return _on_client(q, client, why) if client else _client_away(q, spec, why)
    if q.server is ServerState.UP:
        return OnServer(tool=spec.name, reason=f"{why}, server up")
    why = f"{why}, server {q.server}"
    if client:
        return _on_client(q, client, why)
    if q.server is ServerState.DOWN:
        also = (Wake(cause_kind=CauseKind.CLIENT_TOOL, key=_client_key(q, spec.name)),)
        return _park_for_server(spec, f"{why}, no client offers it", also)
    return _client_away(q, spec, why)


def _client_away(q: Question, spec: ToolSpec, why: str) -> Decision:
    """No client can take it: other ways, in the strategy's order, else wait."""
    strategy, origin = effective_strategy(q)
    chosen = f"strategy {strategy} ({origin})"
    why = f"{why}, {_nobody(q)}"
    rule = _server_may_stand_in(q, spec, chosen)
    server: Run | None = None
    if rule and q.server is ServerState.UP:
        reason = f"{why}, fell back to the server ({rule})"
        server = OnServer(tool=spec.name, reason=reason)
    other: Run | None = None
    if strategy is Strategy.FALLBACK:
        other = _on_fallback_tool(q, f"{why}, {chosen}")
    found = (server or other) if q.target is Target.ANY else (other or server)
    if found is not None:
        return found
    if strategy is Strategy.SKIP:
        return Skip(reason=f"{why}, {chosen}")
    also = _fallback_wakes(q) if strategy is Strategy.FALLBACK else ()
    here = Wake(cause_kind=CauseKind.CLIENT_TOOL, key=_client_key(q, spec.name))
    if rule and q.server is ServerState.DOWN:
        reason = f"{why}, server down ({rule})"
        return _park_for_server(spec, reason, (here, *also))
    if rule and spec.mcp_server is not None:
        there = Wake(cause_kind=CauseKind.SERVER_TOOL, key=spec.mcp_server)
        also = (there, *also)
    return _park_for_client(q, spec, strategy, f"{why}, {chosen}", also)


def _server_may_stand_in(q: Question, spec: ToolSpec, chosen: str) -> str | None:
    """The rule that lets the server's copy run for an absent client, or None.

    `auto_fallback` is the recipe's: a strategy written at the task or the tool is
    more specific and wins over it, the recipe's own and the mode's are not.
    """
    if q.address.client or not spec.on_server or q.target is Target.CLIENT:
        return None
    if q.target is Target.ANY:
        return "target any"
    if spec.prefer is not Prefer.CLIENT:
        return "prefer server"
    if effective_strategy(q)[0] is Strategy.FALLBACK:
        return chosen
    if q.auto_fallback and q.task_strategy is None and spec.offline_strategy is None:
        return "auto_fallback"
    return None


def _on_fallback_tool(q: Question, why: str) -> Run | None:
    fallback = q.fallback
    if fallback is None:
        return None
    name = fallback.spec.name
    reason = f"{why}, fallback_tool {name}"
    client = _reachable(q, fallback.client) if fallback.spec.on_client else None
    on_client = OnClient(tool=name, client=client, reason=reason) if client else None
    on_server: Run | None = None
    if _may_leave_clients(q) and fallback.spec.on_server:
        up = fallback.server is ServerState.UP
        on_server = OnServer(tool=name, reason=reason) if up else None
    if fallback.spec.prefer is Prefer.CLIENT:
        return on_client or on_server
    return on_server or on_client


def _fallback_wakes(q: Question) -> tuple[Wake, ...]:
    fallback = q.fallback
    if fallback is None:
        return ()
    spec, wakes = fallback.spec, []
    if spec.on_client:
        key = _client_key(q, spec.name)
        wakes.append(Wake(cause_kind=CauseKind.CLIENT_TOOL, key=key))
    if spec.on_server and _may_leave_clients(q):
        key = spec.mcp_server or spec.name
        wakes.append(Wake(cause_kind=CauseKind.SERVER_TOOL, key=key))
    return tuple(wakes)


def _may_leave_clients(q: Question) -> bool:
    return q.target is not Target.CLIENT and q.address.client is None


def _named(q: Question) -> str | None:
    return q.address.client or q.pin


def _reachable(q: Question, client: str | None) -> str | None:
    """A candidate, unless the call is bound to another client."""
    named = _named(q)
    return client if named is None or client == named else None


def _client(q: Question) -> str | None:
    return _reachable(q, q.client)


def _nobody(q: Question) -> str:
    named = _named(q)
    return f"client `{named}` away" if named else "no client offers it"


def _client_key(q: Question, tool: str) -> str:
    named = _named(q)
    return f"{tool}@{named}" if named else tool


def _on_client(q: Question, client: str, why: str) -> OnClient:
    reason = f"{why}, client `{client}` connected"
    return OnClient(tool=q.address.tool, client=client, reason=reason)


def _park_for_client(
    q: Question, spec: ToolSpec, strategy: Strategy, reason: str, also: tuple[Wake, ...]
) -> Park:
    named, tool = _named(q), spec.name
    who = f"Client {named}" if named else "Client"
    whose = f"client {named} offers" if named else "a client offers"
    queued = strategy is Strategy.QUEUE
    return Park(
        status=TaskStatus.QUEUED if queued else TaskStatus.BLOCKED,
        cause_kind=CauseKind.CLIENT_TOOL,
        what=f"Waiting for {who} for Tool: {tool}",
        key=_client_key(q, tool),
        wakes_on=f"{whose} {tool}",
        reason=reason,
        also=also,
    )


def _park_for_server(spec: ToolSpec, reason: str, also: tuple[Wake, ...] = ()) -> Park:
    """A server that is down always blocks: strategies are about absent clients."""
    server = spec.mcp_server or spec.name
    return Park(
        status=TaskStatus.BLOCKED,
        cause_kind=CauseKind.SERVER_TOOL,
        what=f"Waiting for Server {server} for Tool: {spec.name}",
        key=server,
        wakes_on=f"server {server} is up",
        reason=reason,
        also=also,
    )
