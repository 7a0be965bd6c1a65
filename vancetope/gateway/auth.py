"""The only maker of principals for connections: a credential verifies or it does not."""

from typing import Protocol

import attrs

from vancetope.clock import Clock
from vancetope.crypto import SigningKey
from vancetope.model.principal import Principal


class Verifier(Protocol):
    """Turns a credential into who bears it."""

    def verify(self, token: str) -> Principal:
        """The bearer.

        Raises:
            Unauthorized: the credential does not verify.
        """
        ...


@attrs.frozen
class TokenVerifier:
    """Accepts the tokens of this home."""

    _key: SigningKey
    _clock: Clock

    def verify(self, token: str) -> Principal:
        """The bearer of a token of this home.

        Raises:
            Unauthorized: it is not one of ours, or not any more.
        """
        return self._key.verify(token, self._clock)
