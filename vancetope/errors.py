"""The error tree, cut by who must act.

`BrainError` and below go over the wire as `error {code, message, context?}`; the
gateway is the one place that does it.  `UserError` and below are for the person at
the terminal: `str()` is one readable line that ends with the fix.
"""

from typing import ClassVar

from vancetope.model.json import Json


class BrainError(Exception):
    """An answer the client gets as `error`; `code` is a stable string."""

    code: ClassVar[str] = "internal"

    def __init__(self, message: str, *, context: dict[str, Json] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.context = context


class Unauthorized(BrainError):
    """The credential does not verify."""

    code = "unauthorized"


class Forbidden(BrainError):
    """The credential is good but may not do this."""

    code = "forbidden"


class NotFound(BrainError):
    """No such thing, or nothing the asker may see."""

    code = "not_found"


class BadMessage(BrainError):
    """The message is well formed but its content makes no sense."""

    code = "bad_message"


class UnknownType(BrainError):
    """No message of this type exists."""

    code = "unknown_type"


class Conflict(BrainError):
    """The thing is not in a state in which this can be done."""

    code = "conflict"


class ProfileMismatch(BrainError):
    """A session is bound to the profile it was made with (seed 003 section 2.1a)."""

    code = "409"


class RateLimited(BrainError):
    """Too many, too fast."""

    code = "rate_limited"


class Unavailable(BrainError):
    """The Brain cannot do this now; `context.fix` says what would help."""

    code = "unavailable"

    def __init__(
        self, message: str, *, fix: str, context: dict[str, Json] | None = None
    ) -> None:
        super().__init__(message, context={**(context or {}), "fix": fix})


class ToolFailed(BrainError):
    """A tool ran and failed, or refused its arguments."""

    code = "failed"


class UserError(Exception):
    """Something the person at the terminal can mend; the line says how."""

    def __init__(self, message: str, *, fix: str) -> None:
        super().__init__(f"{message}. {fix}" if fix else message)
        self.message = message
        self.fix = fix


class ConfigError(UserError):
    """A file of the home is wrong: which one, where, and what to write instead.

    Attributes:
        problem: what is wrong, without the place and the fix.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str,
        fix: str,
        line: int | None = None,
        field: str | None = None,
        value: object = None,
    ) -> None:
        place = file if line is None else f"{file}:{line}"
        at = f"{field}: " if field else ""
        got = "" if value is None else f" (got {value!r:.80})"
        super().__init__(f"{place}: {at}{message}{got}", fix=fix)
        self.problem = f"{message}{got}"
        self.file = file
        self.line = line
        self.field = field
        self.value = value


class HomeError(UserError):
    """The home directory or the port cannot be used."""


class HomeTaken(HomeError):
    """Another Brain has the home open."""


class StoreError(UserError):
    """The database cannot be opened, read or written."""


class NewerSchema(StoreError):
    """The database was made by a newer version than this one."""
