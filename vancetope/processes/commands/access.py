"""Who may see what: the one place that turns an id into a row for a principal.

What a principal may not see does not exist for it (`not_found`).
"""

from vancetope.errors import NotFound
from vancetope.model.principal import Principal
from vancetope.model.records import ProcessRecord, SessionRecord, TaskRecord
from vancetope.store import Connection
from vancetope.store.queries import processes, sessions, tasks


def process_for(conn: Connection, who: Principal, process_id: str) -> ProcessRecord:
    """The process, if this principal may see it.

    Raises:
        NotFound: there is none, or it is another's.
    """
    process = processes.get(conn, process_id)
    if process is None or not (who.is_owner or process.principal == who.id):
        message = f"No process {process_id}"
        raise NotFound(message)
    return process


def task_for(conn: Connection, who: Principal, task_id: str) -> TaskRecord:
    """The task, if this principal may see its process.

    Raises:
        NotFound: there is none, or it is another's.
    """
    task = tasks.get(conn, task_id)
    if task is not None:
        process = processes.get(conn, task.process_id)
        if process and (who.is_owner or process.principal == who.id):
            return task
    message = f"No task {task_id}"
    raise NotFound(message)


def session_for(conn: Connection, who: Principal, session_id: str) -> SessionRecord:
    """The open session, if it is this principal's own.

    Raises:
        NotFound: there is none, it is another's, or it is closed.
    """
    session = sessions.get(conn, session_id)
    if session is None or session.principal != who.id or session.closed_at is not None:
        message = f"No session {session_id}"
        raise NotFound(message)
    return session
