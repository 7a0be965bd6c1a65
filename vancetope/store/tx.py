"""What a write function gets, and the connection it may not commit on."""

import sqlite3
from typing import Final, NoReturn

import attrs

from vancetope.events import Event
from vancetope.model.json import Json, dumps

_INSERT_EVENT: Final = (
    "INSERT INTO event(at, kind, project_id, session_id, process_id, task_id, body)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)


class JobConnection(sqlite3.Connection):
    """The writer's connection: jobs may not end the transaction they share.

    The batch's own BEGIN and COMMIT are plain statements; these methods would commit
    or roll back the neighbours' writes.
    """

    def commit(self) -> NoReturn:
        """Refused: the batch commits."""
        self._refuse()

    def rollback(self) -> NoReturn:
        """Refused: raise an exception to roll this job back."""
        self._refuse()

    def executescript(self, _sql: object) -> NoReturn:
        """Refused: it commits first."""
        self._refuse()

    def __enter__(self) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        msg = "a job shares its transaction: raise to roll back, return to commit"
        raise sqlite3.ProgrammingError(msg)


@attrs.define(eq=False)
class Tx:
    """What a write function gets: the connection, the time, and the event log.

    Attributes:
        conn: the writer's connection, inside this job's savepoint.
        now_ms: when the job began, UTC epoch milliseconds.
        here: the job runs in the event loop, not on the writer's thread.
    """

    conn: sqlite3.Connection
    now_ms: int
    here: bool = False
    _events: list[Event] = attrs.field(factory=list)

    def emit(
        self,
        kind: str,
        *,
        project_id: str | None = None,
        session_id: str | None = None,
        process_id: str | None = None,
        task_id: str | None = None,
        body: Json = None,
    ) -> int:
        """Insert an event row, to be published once it is committed.

        Returns:
            The event's `seq`.
        """
        text = None if body is None else dumps(body)
        row = (self.now_ms, kind, project_id, session_id, process_id, task_id, text)
        seq = self.conn.execute(_INSERT_EVENT, row).lastrowid
        if seq is None:  # only if the table were a view
            msg = "the event row has no number"
            raise sqlite3.InternalError(msg)
        event = Event(
            seq=seq,
            at=self.now_ms,
            kind=kind,
            project_id=project_id,
            session_id=session_id,
            process_id=process_id,
            task_id=task_id,
            body=body,
        )
        self._events.append(event)
        return seq

    def hint(
        self, kind: str, *, process_id: str | None = None, body: Json = None
    ) -> None:
        """Publish something after the commit without a row: for this Brain alone.

        The same hint twice in one job is one hint.
        """
        event = Event(kind=kind, at=self.now_ms, process_id=process_id, body=body)
        if event not in self._events:
            self._events.append(event)

    def hints(self, kind: str) -> list[Event]:
        """The hints of this kind that the job has given, in order."""
        return [event for event in self._events if not event.seq and event.kind == kind]

    def events(self) -> list[Event]:
        """What this job emitted, in order."""
        return list(self._events)
