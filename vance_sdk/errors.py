"""What can go wrong between a program and its Brain.

::

    VanceError
      BadAddress        the URL cannot be a Brain's
      NotConnected      nothing runs that could carry the request
      ConnectionLost    the socket ended; maybe the Brain has acted, maybe not
      HandshakeRefused  the Brain does not take this client
      BrainRefused      the Brain answered with an error
      UnexpectedAnswer  the Brain answered with something else
      MessageTooBig     a frame over the limit, not sent
      ProcessFailed     a think process ended without success
      NotEnded          a think process has no result yet
      Timeout           no answer in time
    ToolFailed          raised by a tool, to choose the code of its error
"""

from collections.abc import Mapping

from vance_sdk.wire.errors import FAILED
from vance_sdk.wire.json import Json
from vance_sdk.wire.messages.tools import ToolError


class VanceError(Exception):
    """Everything this library raises on purpose."""


class BadAddress(VanceError, ValueError):
    """A URL, a profile or a name of the wrong shape."""


class NotConnected(VanceError):
    """The client was not started, or has been stopped."""


class ConnectionLost(VanceError):
    """The connection is at its end.

    Attributes:
        code: The close code; 1006 when there was none.
        reason: What came with it, or what happened here.
        sent: Whether the request that failed by it may have reached the Brain.
        retry_in_ms: What the Brain's ``goaway`` asked for.
    """

    def __init__(
        self,
        code: int,
        reason: str = "",
        *,
        sent: bool = False,
        retry_in_ms: int | None = None,
    ) -> None:
        super().__init__(f"connection lost ({code}) {reason}".rstrip())
        self.code = code
        self.reason = reason
        self.sent = sent
        self.retry_in_ms = retry_in_ms


class HandshakeRefused(VanceError):
    """The Brain refused this client.

    Attributes:
        code: As in an ``error`` frame, such as ``unauthorized`` or ``409``; or
            ``http_<status>`` when it did not come to a WebSocket.
        message: The Brain's own words.
        close_code: The WebSocket's close code, if it came to one.
    """

    def __init__(self, code: str, message: str, close_code: int | None = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.close_code = close_code


class BrainRefused(VanceError):
    """The Brain answered a request with an ``error``.

    Attributes:
        code: One of ``wire.errors.CODES``.
        message: The Brain's own words.
        context: With ``unavailable``: ``{"fix": ...}``.
    """

    def __init__(
        self, code: str, message: str, context: Mapping[str, Json] | None = None
    ) -> None:
        context = dict(context or {})
        fix = context.get("fix")
        super().__init__(f"{code}: {message}" + (f" ({fix})" if fix else ""))
        self.code = code
        self.message = message
        self.context = context


class UnexpectedAnswer(VanceError):
    """The Brain's answer is not what the protocol says."""


class MessageTooBig(VanceError):
    """A frame over the Brain's limit; it was not sent."""


class ProcessFailed(VanceError):
    """A think process ended without success.

    Attributes:
        process_id: ``tp_...``.
        status: ``failed`` or ``stopped``.
        result: The partial result, if there is one.
    """

    def __init__(self, process_id: str, status: str, result: Json = None) -> None:
        super().__init__(f"think process {process_id} is {status}")
        self.process_id = process_id
        self.status = status
        self.result = result


class NotEnded(VanceError):
    """A think process goes on; there is no result yet.

    Attributes:
        process_id: ``tp_...``.
        status: What it is now.
    """

    def __init__(self, process_id: str, status: str) -> None:
        super().__init__(f"think process {process_id} is {status}, not ended")
        self.process_id = process_id
        self.status = status


class Timeout(VanceError, TimeoutError):
    """Something took longer than its caller wanted to wait."""


class ToolFailed(Exception):
    """Raised by a tool to choose what its ``tool-result.error`` says.

    Any other exception becomes ``failed`` with its type and text.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = FAILED,
        what: str | None = None,
        argv: tuple[str, ...] | None = None,
        diff: str | None = None,
        digest: str | None = None,
    ) -> None:
        super().__init__(message)
        self.error = ToolError(
            code=code, message=message, what=what, argv=argv, diff=diff, digest=digest
        )
