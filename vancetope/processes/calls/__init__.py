"""The only writer of call rows: park, dispatch, accept, result, unknown.

Every function runs inside one transaction and moves the call and its task together
(PROTOCOL section 3).  A decision and its reason stand on the row it made.
"""

from vancetope.processes.calls.absence import (
    client_gone,
    dropped,
    expire,
    journal_lost,
    not_sent,
    over_limit,
    overdue,
    recover,
    window_ended,
)
from vancetope.processes.calls.dispatch import (
    SERVER,
    Wanted,
    begin,
    hold_for_client,
    must_not_move,
)
from vancetope.processes.calls.results import (
    accept,
    cancel,
    client_result,
    finish,
    server_result,
    unknown,
)

__all__ = [
    "SERVER",
    "Wanted",
    "accept",
    "begin",
    "cancel",
    "client_gone",
    "client_result",
    "dropped",
    "expire",
    "finish",
    "hold_for_client",
    "journal_lost",
    "must_not_move",
    "not_sent",
    "over_limit",
    "overdue",
    "recover",
    "server_result",
    "unknown",
    "window_ended",
]
