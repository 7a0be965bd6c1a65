"""Who is asking."""

from enum import StrEnum

import attrs


class PrincipalKind(StrEnum):
    """What stands behind a credential."""

    HUMAN = "human"
    INTERNAL = "internal"
    ROBOT = "robot"


@attrs.frozen(kw_only=True)
class Principal:
    """A verified identity: only `gateway.auth` makes one for a connection.

    `id` is `owner` for the owner's own clients and for internal callers (cron,
    linker), the service account's id for a robot.
    """

    id: str
    kind: PrincipalKind
    name: str = ""

    @property
    def is_owner(self) -> bool:
        """Whether this acts for the owner, at the keyboard or by the clock."""
        return self.kind is not PrincipalKind.ROBOT


OWNER_ID = "owner"
