"""Loads the HTTP side in a worker thread, and lets requests wait for it.

Quart and hypercorn take longer to import than all the rest of the Brain: the port
is open and WebSockets are served before they are there.
"""

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from vancetope.gateway.edge import EdgeConfig
from vancetope.gateway.origin import CallerPolicy
from vancetope.gateway.refusal import Refusal
from vancetope.gateway.streams import ReplayStream

if TYPE_CHECKING:
    from vancetope.gateway.http import HttpServer

logger: Final = logging.getLogger(__name__)

#: Makes the ASGI app; runs in the worker thread and may import what it needs there.
AppFactory = Callable[[], Any]
#: Runs the loading; a seam for tests in virtual time, which passes while threads work.
RunSync = Callable[[Callable[[], "HttpServer"]], Awaitable["HttpServer"]]

in_thread: Final[RunSync] = partial(trio.to_thread.run_sync, abandon_on_cancel=True)


def load_app(ready: Callable[[], str | None]) -> AppFactory:
    """The factory of `http.create_app(ready)`, which imports it only when called."""

    def factory() -> Any:
        from vancetope.gateway.http import create_app

        return create_app(ready)

    return factory


@attrs.define(eq=False, kw_only=True)
class HttpSide:
    """The HTTP server of one listener, which may not be there yet."""

    _config: EdgeConfig
    _policy: CallerPolicy
    _app_factory: AppFactory
    _run_sync: RunSync
    _server: "HttpServer | None" = attrs.field(init=False, default=None)
    _settled: trio.Event = attrs.field(init=False, factory=trio.Event)
    _wanted: trio.Event = attrs.field(init=False, factory=trio.Event)
    _loading: trio.CancelScope = attrs.field(init=False, factory=trio.CancelScope)

    async def run(self) -> None:
        """Load the app and run its lifespan until `stop()`.

        An app that cannot be loaded is logged; its requests get a 503 and WebSockets
        work on.
        """
        try:
            with self._loading:
                if self._config.http_on_demand:
                    await self._wanted.wait()
                server = await self._run_sync(self._load)
            if self._loading.cancelled_caught:
                return
            async with trio.open_nursery() as nursery:
                await nursery.start(server.run)
                self._server = server
                self._settled.set()
        except Exception:
            logger.exception("HTTP cannot be served")
        finally:
            self._server = None
            self._settled.set()

    async def serve(self, stream: ReplayStream) -> None:
        """Serve one connection.

        Raises:
            Refusal: 503, the app is not there or took too long to load.
        """
        self._wanted.set()
        with trio.move_on_after(self._config.http_load_timeout_s):
            await self._settled.wait()
        if self._server is None:
            raise Refusal(503, "HTTP is not served yet", (("retry-after", "1"),))
        stream.release()
        await self._server.serve(stream)

    async def finish(self) -> None:
        """Close idle connections; the others close after their current response."""
        if self._server is not None:
            await self._server.finish()

    def stop(self) -> None:
        """End `run()`, also when nothing is loaded yet."""
        self._loading.cancel()
        if self._server is not None:
            self._server.stop()

    def _load(self) -> "HttpServer":
        from vancetope.gateway.http import HttpServer

        return HttpServer(self._app_factory(), self._config, self._policy)
