"""The HTTP side of the port: hypercorn's HTTP/1.1 over Quart-Trio.

Importing this module costs some 0.4 s (quart, hypercorn), so only the listener's
worker thread does it, off the way to "ready".
"""

import logging
from collections.abc import Callable
from typing import Any, Final

import attrs
import h11
import trio
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.trio.lifespan import Lifespan
from hypercorn.trio.task_group import TaskGroup
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import (
    AppWrapper,
    ASGIFramework,
    ASGIReceiveCallable,
    ASGIReceiveEvent,
    ASGISendCallable,
    ConnectionState,
    Scope,
)
from hypercorn.utils import parse_socket_addr, wrap_app
from quart import Response
from quart_trio import QuartTrio
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from vancetope.gateway.edge import WEBSOCKET_PATH, EdgeConfig
from vancetope.gateway.origin import CallerPolicy
from vancetope.gateway.refusal import Refusal, error_body
from vancetope.gateway.streams import ReplayStream
from vancetope.model.json import Json, dumps

logger: Final = logging.getLogger(__name__)

#: One slice of a response; each has the send deadline for itself, so that a large
#: body over a slow line is not mistaken for a peer that has stopped reading.
_SLICE: Final = 65536
#: Closing and timers touch no network; this bounds telling an app that is not
#: listening any more.
_NOTICE_S: Final = 1.0


def create_app(ready: Callable[[], str | None]) -> QuartTrio:
    """The Quart app with the routes that every Brain has.

    `ready` says why the Brain is not ready, or None when it is.
    """
    app = QuartTrio("vancetope")

    @app.get("/")
    async def index() -> Response:
        return _json(
            {
                "name": "vancetope",
                "endpoints": {
                    WEBSOCKET_PATH: "WebSocket: the client protocol",
                    "/healthz": "200 while the process runs",
                    "/readyz": "200 when it takes work, else 503 with the reason",
                },
            }
        )

    @app.get("/healthz")
    async def healthz() -> Response:
        return _json({"status": "ok"})

    @app.get("/readyz")
    async def readyz() -> Response:
        reason = ready()
        if reason is None:
            return _json({"status": "ready"})
        return _json({"status": "unready", "reason": reason}, status=503)

    @app.get(WEBSOCKET_PATH)
    async def websocket_only() -> Response:
        refusal = _upgrade_required()
        return Response(
            refusal.body(), status=refusal.status, headers=_text_headers(refusal)
        )

    app.register_error_handler(Exception, _to_error)
    return app


def _json(body: Json, *, status: int = 200) -> Response:
    return Response(dumps(body), status=status, content_type="application/json")


async def _to_error(error: Exception) -> Response:
    """The one place where an exception of a route becomes an answer."""
    if not isinstance(error, HTTPException) or error.code is None:
        logger.error("an HTTP request failed", exc_info=error)
        body, status = error_body(500, "internal error"), 500
        return Response(body, status=status, content_type="application/json")
    body = error_body(error.code, error.description or error.name)
    response = Response(body, status=error.code, content_type="application/json")
    if isinstance(error, MethodNotAllowed) and error.valid_methods:
        response.headers["allow"] = ", ".join(error.valid_methods)
    return response


def _upgrade_required() -> Refusal:
    return Refusal(
        426,
        "a WebSocket upgrade must be the first request of its connection",
        headers=(("upgrade", "websocket"),),
    )


def _text_headers(refusal: Refusal) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in refusal.asgi_headers()}


@attrs.frozen(kw_only=True)
class Guard:
    """ASGI middleware for every request of a connection, not only its first.

    Turns away foreign callers, WebSockets and HTTP/2, and cuts a request whose body
    does not move for `body_idle_s` seconds.
    """

    app: ASGIFramework
    policy: CallerPolicy
    body_idle_s: float

    async def __call__(
        self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable
    ) -> None:
        """See the ASGI specification, section Applications."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        try:
            self._check(scope)
        except Refusal as refusal:
            await _refuse(scope["type"], refusal, send)
            return
        await self.app(scope, self._moving(receive), send)

    def _check(self, scope: Any) -> None:
        if scope["http_version"] not in {"1.0", "1.1"}:
            raise Refusal(505, "HTTP/1.1 is the version spoken here")
        if not scope["path"].startswith("/") and scope["path"] != "*":
            raise Refusal(400, "the request target must be a path")
        headers = [
            (name.lower(), value.decode("latin-1")) for name, value in scope["headers"]
        ]
        self.policy.check(
            [value for name, value in headers if name == b"host"],
            [value for name, value in headers if name == b"origin"],
        )
        if scope["type"] == "websocket":
            if scope["path"] == WEBSOCKET_PATH:
                raise _upgrade_required()
            raise Refusal(404, f"the WebSocket is at {WEBSOCKET_PATH}")

    def _moving(self, receive: ASGIReceiveCallable) -> ASGIReceiveCallable:
        complete = False

        async def receive_within() -> ASGIReceiveEvent:
            nonlocal complete
            if complete:
                return await receive()
            with trio.move_on_after(self.body_idle_s):
                event = await receive()
                complete = not event.get("more_body", False)
                return event
            complete = True
            return {"type": "http.disconnect"}

        return receive_within


async def _refuse(kind: str, refusal: Refusal, send: ASGISendCallable) -> None:
    prefix: Any = "websocket.http.response" if kind == "websocket" else "http.response"
    body = refusal.body()
    headers = [
        *refusal.asgi_headers(),
        (b"content-length", str(len(body)).encode()),
    ]
    start: Any = {
        "type": f"{prefix}.start",
        "status": refusal.status,
        "headers": headers,
    }
    rest: Any = {"type": f"{prefix}.body", "body": body, "more_body": False}
    await send(start)
    await send(rest)


class _Http1(H11Protocol):
    """hypercorn's HTTP/1.1, which stays that: no upgrade turns it into HTTP/2."""

    async def _check_protocol(self, event: h11.Request) -> None:
        pass


class _Connection(TCPServer):
    """hypercorn's connection, with a send that ends and a close that happens.

    The original sends under an unbounded shield: one client that does not read
    keeps the server from stopping.  And quart-trio cancels the app as soon as its
    response is out, which can hit the original half-way through closing the
    connection or starting its idle timer: then it stays open for ever.
    """

    send_timeout_s: float = 10.0

    async def run(self) -> None:
        """Serve until either side ends the connection; the caller closes it."""
        socket = self.stream.socket
        try:
            client = parse_socket_addr(socket.family, socket.getpeername())
            server = parse_socket_addr(socket.family, socket.getsockname())
        except OSError:
            return  # the peer has left
        async with TaskGroup() as group:
            self._task_group = group
            self.protocol = _Http1(  # type: ignore[assignment]
                self.app,
                self.config,
                self.context,
                group,
                ConnectionState(self.state),
                False,  # noqa: FBT003 - `ssl`, by position in hypercorn too
                client,
                server,
                self.protocol_send,
            )
            await self.idle_task.restart(group, self._idle_timeout)
            await self._read_data()

    async def protocol_send(self, event: Event) -> None:
        """Take what the protocol has for the network."""
        if not isinstance(event, RawData):
            with trio.move_on_after(_NOTICE_S, shield=True):
                await super().protocol_send(event)
            return
        async with self.send_lock:
            sent = await self._send_slices(event.data)
        if not sent:
            self.stream.socket.close()
            await self.protocol.handle(Closed())

    async def _send_slices(self, data: bytes) -> bool:
        view = memoryview(data)
        for start in range(0, len(view), _SLICE):
            with trio.move_on_after(self.send_timeout_s, shield=True) as scope:
                try:
                    await self.stream.send_all(view[start : start + _SLICE])
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    return False
            if scope.cancelled_caught:
                return False
        return True


@attrs.define(eq=False)
class HttpServer:
    """Serves HTTP/1.1 on streams that the listener hands over."""

    _app: ASGIFramework
    _config: EdgeConfig
    _policy: CallerPolicy
    _hypercorn: Config = attrs.field(init=False)
    _context: WorkerContext = attrs.field(init=False)
    _wrapped: AppWrapper = attrs.field(init=False)
    _state: ConnectionState = attrs.field(init=False)
    _stopping: trio.Event = attrs.field(init=False, factory=trio.Event)

    def __attrs_post_init__(self) -> None:
        self._hypercorn = _hypercorn_config(self._config)
        self._context = WorkerContext(max_requests=None)
        self._state = ConnectionState({})
        guard = Guard(
            app=self._app, policy=self._policy, body_idle_s=self._config.body_idle_s
        )
        self._wrapped = wrap_app(guard, self._hypercorn.wsgi_max_body_size, mode="asgi")

    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Run the app's lifespan until `stop()`; started once it has started up."""
        lifespan = Lifespan(self._wrapped, self._hypercorn, self._state)
        async with trio.open_nursery() as nursery:
            await nursery.start(lifespan.handle_lifespan)
            await lifespan.wait_for_startup()
            task_status.started()
            await self._stopping.wait()
            await lifespan.wait_for_shutdown()
            nursery.cancel_scope.cancel()

    async def serve(self, stream: ReplayStream) -> None:
        """Serve one connection until either side ends it."""
        connection = _Connection(
            self._wrapped,
            self._hypercorn,
            self._context,
            ConnectionState(self._state.copy()),
            stream,  # type: ignore[arg-type]  # typed for TLS, takes any stream
        )
        connection.send_timeout_s = self._config.send_timeout_s
        await connection.run()

    async def finish(self) -> None:
        """Close idle connections; the others close after their current response."""
        await self._context.terminated.set()

    def stop(self) -> None:
        """Let `run()` shut the app down and return."""
        self._stopping.set()


def _hypercorn_config(config: EdgeConfig) -> Config:
    result = Config()
    result.accesslog = None
    result.errorlog = logging.getLogger(f"{__name__}.hypercorn")
    result.include_server_header = False
    result.h11_max_incomplete_size = config.head_limit
    result.keep_alive_timeout = config.keep_alive_s
    result.graceful_timeout = config.shutdown_grace_s
    result.startup_timeout = config.http_load_timeout_s
    result.shutdown_timeout = config.shutdown_grace_s
    return result
