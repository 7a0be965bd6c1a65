"""What a start finds, put right before anything is accepted."""

import logging

from vancetope.errors import StoreError, Unavailable
from vancetope.model.status import CauseKind
from vancetope.processes import calls as call_rows
from vancetope.processes.flow import Flow
from vancetope.store.db import Store, Tx
from vancetope.store.queries import calls, sessions, tasks

logger = logging.getLogger(__name__)


async def recover(store: Store) -> list[str]:
    """Reconcile the tree with a Brain that has just started.

    Nobody is connected; what ran in the Brain is gone; a server that was down may be
    there now.

    Raises:
        StoreError: the database cannot be written.

    Returns:
        The sessions whose clients may still have calls: their resume window begins.
    """
    try:
        return await store.write(_recover, long=True)
    except Unavailable as exc:
        fix = (exc.context or {}).get("fix", "")
        message = f"{store.path}: {exc.message}"
        raise StoreError(message, fix=str(fix)) from exc


def _recover(tx: Tx) -> list[str]:
    sessions.detach_all(tx.conn, tx.now_ms)
    found = call_rows.recover(tx)
    for task in tasks.with_cause(tx.conn, CauseKind.SERVER_TOOL):
        with Flow.of(tx, task.process_id) as flow:
            flow.ready(task)
    if found:
        logger.info("brain.recovered: %d tasks were running", found)
    owners = {call.session_id for call in calls.at_work(tx.conn)}
    left = {owner for owner in owners if owner is not None}
    return sorted(left.union(sessions.unbound_robots(tx.conn)))
