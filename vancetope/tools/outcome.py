"""How a call ended, in the words of `tool-result` (PROTOCOL section 2)."""

from enum import StrEnum
from typing import TypeAlias

import attrs

from vancetope.model.json import Json, JsonObject


class FailureCode(StrEnum):
    """`tool-result.error.code`; any other code counts as `failed`."""

    FAILED = "failed"
    EXPIRED = "expired"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    OUTCOME_UNKNOWN = "outcome_unknown"
    APPROVAL_REQUIRED = "approval_required"


@attrs.frozen(kw_only=True)
class Succeeded:
    """The tool ran and gave this."""

    result: Json


@attrs.frozen(kw_only=True)
class Failed:
    """The tool did not give a result, and what is known about why."""

    code: FailureCode
    message: str
    detail: JsonObject = attrs.field(factory=dict)

    def as_error(self) -> JsonObject:
        """The JSON object that stands on the call and the task."""
        return {**self.detail, "code": self.code.value, "message": self.message}


Outcome: TypeAlias = Succeeded | Failed
