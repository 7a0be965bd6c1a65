"""SIGTERM and SIGINT: the first one stops cleanly, the second one at once."""

import os
import signal
from typing import Final

import trio

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


async def stop_on_signal(
    stop: trio.Event,
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Set `stop` at the first signal, end the process at the second."""
    with trio.open_signal_receiver(*_SIGNALS) as signals:
        task_status.started()
        async for number in signals:
            if stop.is_set():
                os._exit(128 + number)
            stop.set()
