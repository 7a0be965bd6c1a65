"""`tool-list` and `project-*`: what the Brain has."""

from vance_sdk.wire.messages.common import Project as WireProject
from vance_sdk.wire.messages.inventory import (
    ProjectCreate,
    ProjectCreated,
    ProjectList,
    ProjectListQuery,
    ToolList,
    ToolListQuery,
    ToolRow,
)
from vance_sdk.wire.messages.tables import Outbound
from vancetope.gateway.session.context import Hub, Session
from vancetope.gateway.session.rows import pages
from vancetope.model.tool import ToolSpec
from vancetope.processes.commands.sessions import ensure_project
from vancetope.store import Connection
from vancetope.store.queries import processes, sessions

ROW_BYTES = 500


async def tools(session: Session, _message: ToolListQuery) -> list[Outbound]:
    """`tool-list`: the registry, then what only clients bring or brought once."""
    hub = session.hub
    rows = hub.store.read(lambda conn: _tool_rows(conn, hub))
    sized = ((row, ROW_BYTES + 4 * len(row.description)) for row in rows)
    return [
        ToolList(tools=tuple(page), more=more or None) for page, more in pages(sized)
    ]


def _tool_rows(conn: Connection, hub: Hub) -> list[ToolRow]:
    names = set(hub.registry.specs)
    names |= {row["tool"] for row in sessions.remembered_tools(conn)}
    names |= {name for client in hub.clients.all() for name in client.offers}
    specs = ((name, hub.desk.spec(conn, name)) for name in sorted(names))
    return [_tool_row(hub, spec) for _, spec in specs if spec is not None]


def _tool_row(hub: Hub, spec: ToolSpec) -> ToolRow:
    offering = [c.key for c in reversed(hub.clients.all()) if spec.name in c.offers]
    return ToolRow(
        name=spec.name,
        location=spec.location.value,
        prefer=spec.prefer.value if spec.prefer else None,
        type=spec.type.value if spec.type else None,
        effect=spec.effect.value,
        server=hub.desk.servers.state(spec).value,
        clients=tuple(dict.fromkeys(offering)),
        description=spec.description,
        source=spec.source,
    )


async def projects(session: Session, _message: ProjectListQuery) -> list[Outbound]:
    """`project-list`."""
    found = session.hub.store.read(processes.projects)
    own = session.record.project_id
    shown = (one for one in found if session.who.is_owner or one.id == own)
    rows = tuple(WireProject(id=one.id, name=one.name) for one in shown)
    return [ProjectList(projects=rows)]


async def create_project(session: Session, message: ProjectCreate) -> list[Outbound]:
    """`project-create`."""
    made = await session.hub.store.write(
        lambda tx: ensure_project(tx, session.who, message.project_id, message.name)
    )
    return [ProjectCreated(project=WireProject(id=made.id, name=made.name))]
