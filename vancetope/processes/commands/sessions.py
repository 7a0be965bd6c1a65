"""Open, resume and leave a session; remember what its client offered."""

from collections.abc import Mapping
from typing import Final

import attrs

from vance_sdk.wire.limits import RESUME_WINDOW_SECONDS
from vancetope.clock import Clock
from vancetope.errors import BadMessage, NotFound, ProfileMismatch
from vancetope.model import ids
from vancetope.model.principal import Principal, PrincipalKind
from vancetope.model.records import Project, SessionRecord
from vancetope.processes import calls as call_rows
from vancetope.processes.commands.access import session_for
from vancetope.store.db import Tx
from vancetope.store.queries import processes, sessions
from vancetope.tools.registry import Offer

DEFAULT_PROJECT: Final = "default"
PROJECT_CHARS: Final = 64
#: A human's session can be resumed this long after it was last seen.
HUMAN_SESSION_MS: Final = 30 * 24 * 3600 * 1000


@attrs.frozen(kw_only=True)
class Arrival:
    """Who connects, and what for.

    Attributes:
        client_key: what `tool@client` names: the URL's name, else the client_id.
        resume: a session to go on with.
        project_id: a project for a new session; with neither, a bootstrap.
    """

    profile: str
    client_key: str
    client_id: str
    client_name: str
    client_type: str
    journal_id: str | None = None
    resume: str | None = None
    project_id: str | None = None


@attrs.frozen(kw_only=True)
class Opened:
    """The session a connection is now on."""

    record: SessionRecord
    project: Project
    resumed: bool


def is_project_id(text: str) -> bool:
    """Whether a project may be called this."""
    allowed = all(char.isalnum() or char in "_-." for char in text)
    return 0 < len(text) <= PROJECT_CHARS and allowed and not text.startswith(".")


def open_session(tx: Tx, clock: Clock, who: Principal, arrival: Arrival) -> Opened:
    """Resume, bootstrap or create a session (PROTOCOL section 2, Handshake).

    Raises:
        NotFound: no such session; a robot's unknown project.
        ProfileMismatch: the session is bound to another profile.
        BadMessage: the project's name has a wrong shape.
    """
    if arrival.resume is not None:
        found = session_for(tx.conn, who, arrival.resume)
        if not found.connected and found.seen_at <= tx.now_ms - HUMAN_SESSION_MS:
            message = f"Session {found.id} is too old to be resumed"
            raise NotFound(message)
        if found.profile != arrival.profile:
            raise ProfileMismatch(
                "Profile Mismatch",
                context={"session_profile": found.profile, "profile": arrival.profile},
            )
        return _resume(tx, found, arrival)
    if arrival.project_id is None:
        found_or_none = sessions.newest_unbound(
            tx.conn,
            principal=who.id,
            project_id=DEFAULT_PROJECT,
            profile=arrival.profile,
            client_key=arrival.client_key,
            client_id=arrival.client_id,
            seen_after=tx.now_ms - HUMAN_SESSION_MS,
            dropped_before=tx.now_ms - int(RESUME_WINDOW_SECONDS * 1000),
        )
        if found_or_none is not None:
            return _resume(tx, found_or_none, arrival)
    return _create(tx, clock, who, arrival)


def _resume(tx: Tx, found: SessionRecord, arrival: Arrival) -> Opened:
    record = attrs.evolve(
        found,
        client_key=arrival.client_key,
        client_id=arrival.client_id,
        client_name=arrival.client_name,
        client_type=arrival.client_type,
        journal_id=arrival.journal_id,
        epoch=found.epoch + 1,
        connected=True,
        seen_at=tx.now_ms,
    )
    if record.journal_id != found.journal_id:
        call_rows.journal_lost(tx, found.id)
    sessions.attach(tx.conn, record)
    project = processes.ensure_project(
        tx.conn, record.project_id, record.project_id, tx.now_ms
    )
    return Opened(record=record, project=project, resumed=True)


def _create(tx: Tx, clock: Clock, who: Principal, arrival: Arrival) -> Opened:
    project = ensure_project(tx, who, arrival.project_id or DEFAULT_PROJECT)
    record = SessionRecord(
        id=ids.new_id(ids.SESSION, clock),
        principal=who.id,
        kind=who.kind.value,
        project_id=project.id,
        profile=arrival.profile,
        client_key=arrival.client_key,
        client_id=arrival.client_id,
        client_name=arrival.client_name,
        client_type=arrival.client_type,
        journal_id=arrival.journal_id,
        epoch=1,
        connected=True,
        created_at=tx.now_ms,
        seen_at=tx.now_ms,
        closed_at=None,
    )
    sessions.insert(tx.conn, record)
    return Opened(record=record, project=project, resumed=False)


def ensure_project(
    tx: Tx, who: Principal, project_id: str, name: str | None = None
) -> Project:
    """The project; an owner's unknown one is created.

    Raises:
        NotFound: a robot's unknown project.
        BadMessage: the id has a wrong shape.
    """
    known = processes.project(tx.conn, project_id)
    if known is not None:
        return known
    if not who.is_owner:
        message = f"No project {project_id}"
        raise NotFound(message)
    if not is_project_id(project_id):
        message = (
            f"$.project_id: a project's id is 1 to {PROJECT_CHARS} letters, digits,"
            " '_', '-' or '.'"
        )
        raise BadMessage(message)
    return processes.ensure_project(tx.conn, project_id, name or project_id, tx.now_ms)


def leave(tx: Tx, record: SessionRecord, *, disconnect: bool) -> bool:
    """The connection of this epoch is gone; its calls are held at once (D7).

    A robot's `disconnect` closes its session, a human's never does.

    Returns:
        False when a newer connection has taken the session over: nothing changed.
    """
    close = disconnect and record.kind == PrincipalKind.ROBOT.value
    if not sessions.detach(
        tx.conn,
        record.id,
        record.epoch,
        tx.now_ms,
        close=close,
        dropped=not disconnect,
    ):
        return False
    call_rows.dropped(tx, record.id, record.epoch)
    if close:
        call_rows.client_gone(tx, record.id)
    return True


def remember_offers(
    tx: Tx, who: Principal, client_key: str, offers: Mapping[str, Offer]
) -> None:
    """What was offered once is known for good (DESIGN section 5, Names)."""
    for offer in offers.values():
        sessions.remember_offer(
            tx.conn,
            principal=who.id,
            client_key=client_key,
            tool=offer.name,
            type_=offer.type.value if offer.type else "",
            mcp_server=offer.mcp_server,
            description=offer.description,
            now_ms=tx.now_ms,
        )
