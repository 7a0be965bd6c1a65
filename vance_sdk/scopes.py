"""A nursery for background tasks that leaves the body's exceptions as they are."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio


@asynccontextmanager
async def background_nursery() -> AsyncIterator[trio.Nursery]:
    """Open a nursery whose tasks end when the body does.

    What the body raises comes out bare, not in a group; what a task raises ends the
    body and comes out in a group, for it is a defect.
    """
    raised: BaseException | None = None
    async with trio.open_nursery() as nursery:
        try:
            yield nursery
        except trio.Cancelled:
            # Which scope it belongs to, only the nursery can tell.
            raise
        except BaseException as error:  # noqa: BLE001 - raised again below
            raised = error
        nursery.cancel_scope.cancel()
    if raised is not None:
        raise raised
