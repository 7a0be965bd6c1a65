"""The states of a task, a process and a call, and which may follow which.

`ARCHITECTURE.md` prints these tables; a test holds the two together.
"""

from enum import StrEnum
from types import MappingProxyType
from typing import Final


class TaskStatus(StrEnum):
    """Where a node of the task tree stands."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"
    BLOCKED = "blocked"
    QUEUED = "queued"


class ProcessStatus(StrEnum):
    """Where a think process stands."""

    RUNNING = "running"
    PAUSED = "paused"
    BLOCKED = "blocked"
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"


class CallState(StrEnum):
    """Where one tool invocation stands (PROTOCOL section 3)."""

    PARKED = "parked"
    DISPATCHED = "dispatched"
    ACCEPTED = "accepted"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REJECTED = "rejected"
    EXPIRED = "expired"
    UNKNOWN = "unknown"
    RETRIED = "retried"
    RESOLVED = "resolved"


class CauseKind(StrEnum):
    """Why a task is neither running nor ended: exactly one of these."""

    READY = "ready"
    DEPENDENCY = "dependency"
    CHILDREN = "children"
    CLIENT_TOOL = "client_tool"
    SERVER_TOOL = "server_tool"
    APPROVAL = "approval"
    OUTCOME_UNKNOWN = "outcome_unknown"
    BUDGET = "budget"
    INPUT = "input"
    RETRY_AT = "retry_at"
    PAUSED = "paused"


_T, _P, _C = TaskStatus, ProcessStatus, CallState

TASK_ENDED: Final = frozenset({_T.DONE, _T.FAILED, _T.SKIPPED, _T.CANCELLED})
PROCESS_ENDED: Final = frozenset({_P.DONE, _P.FAILED, _P.STOPPED})
CALL_ENDED: Final = frozenset(
    {
        _C.SUCCEEDED,
        _C.FAILED,
        _C.CANCELLED,
        _C.REJECTED,
        _C.EXPIRED,
        _C.RETRIED,
        _C.RESOLVED,
    }
)
#: A call some client or child may be working on.
CALL_AT_WORK: Final = frozenset({_C.DISPATCHED, _C.ACCEPTED})

_OPEN_TASK = {_T.PENDING, _T.BLOCKED, _T.QUEUED}
_OPEN_PROCESS = {_P.RUNNING, _P.PAUSED, _P.BLOCKED, _P.WAITING}

#: An ended task moves only when the owner asks for a rerun.
TASK_MOVES: Final = MappingProxyType(
    {
        **{
            s: frozenset((_OPEN_TASK | {_T.RUNNING} | TASK_ENDED) - {s})
            for s in _OPEN_TASK
        },
        _T.RUNNING: frozenset(_OPEN_TASK | TASK_ENDED),
        **dict.fromkeys(TASK_ENDED, frozenset({_T.PENDING})),
    }
)

#: An ended process moves only when one of its tasks is rerun.
PROCESS_MOVES: Final = MappingProxyType(
    {
        **{s: frozenset((_OPEN_PROCESS | PROCESS_ENDED) - {s}) for s in _OPEN_PROCESS},
        **dict.fromkeys(PROCESS_ENDED, frozenset({_P.RUNNING})),
    }
)

#: PROTOCOL section 3, "Call states", as a table.
CALL_MOVES: Final = MappingProxyType(
    {
        _C.PARKED: frozenset({_C.DISPATCHED, _C.CANCELLED, _C.EXPIRED}),
        _C.DISPATCHED: frozenset(
            {
                _C.ACCEPTED,
                _C.SUCCEEDED,
                _C.FAILED,
                _C.CANCELLED,
                _C.REJECTED,
                _C.EXPIRED,
                _C.PARKED,
                _C.UNKNOWN,
            }
        ),
        _C.ACCEPTED: frozenset(
            {_C.SUCCEEDED, _C.FAILED, _C.CANCELLED, _C.REJECTED, _C.PARKED, _C.UNKNOWN}
        ),
        _C.UNKNOWN: frozenset(
            {_C.SUCCEEDED, _C.FAILED, _C.PARKED, _C.RETRIED, _C.RESOLVED}
        ),
        **dict.fromkeys(CALL_ENDED, frozenset()),
    }
)


def may_move_task(old: TaskStatus, new: TaskStatus) -> bool:
    """Whether a task may go from `old` to `new`."""
    return new in TASK_MOVES[old]


def may_move_process(old: ProcessStatus, new: ProcessStatus) -> bool:
    """Whether a think process may go from `old` to `new`."""
    return new in PROCESS_MOVES[old]


def may_move_call(old: CallState, new: CallState) -> bool:
    """Whether a call may go from `old` to `new`."""
    return new in CALL_MOVES[old]
