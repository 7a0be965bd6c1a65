"""The home's signing key and the tokens made with it.

A token is a JWT, HS256, one algorithm and one issuer; it names its bearer and ends.
"""

import contextlib
import os
import secrets
from pathlib import Path
from typing import Any, Final

import attrs
import jwt

from vancetope.clock import Clock
from vancetope.errors import HomeError, Unauthorized
from vancetope.model.ids import new_id
from vancetope.model.principal import OWNER_ID, Principal, PrincipalKind

ISSUER: Final = "vancetope"
AUDIENCE: Final = "vancetope"
ALGORITHM: Final = "HS256"
KEY_BYTES: Final = 32
DEFAULT_TTL_MS: Final = 30 * 24 * 3600 * 1000
#: The kinds a token may name; robots have keys of their own.
TOKEN_KINDS: Final = (PrincipalKind.HUMAN, PrincipalKind.INTERNAL)
_REQUIRED: Final = ["exp", "iat", "iss", "aud", "sub", "jti"]
#: A JWT of ours has some 300 characters; nothing longer is looked at.
TOKEN_CHARS: Final = 4096


@attrs.frozen(repr=False)
class SigningKey:
    """The secret of one home; never shown."""

    _secret: bytes

    @classmethod
    def of_home(cls, path: Path) -> "SigningKey":
        """Read the key file, made with mode 0600 when it is not there yet.

        Raises:
            HomeError: it cannot be read or written, or is not a key.
        """
        try:
            return cls._read(path)
        except FileNotFoundError:
            cls._create(path)
            return cls._read(path)
        except OSError as exc:
            message = f"{path} cannot be read: {exc.strerror}"
            raise HomeError(message, fix="Give yourself the right to read it.") from exc

    @classmethod
    def _read(cls, path: Path) -> "SigningKey":
        text = path.read_text(encoding="ascii", errors="replace").strip()
        try:
            secret = bytes.fromhex(text)
        except ValueError:
            secret = b""
        if len(secret) != KEY_BYTES:
            message = f"{path} is not a key of {KEY_BYTES} bytes in hexadecimal"
            raise HomeError(
                message, fix="Restore it, or move it away to get a new one."
            )
        return cls(secret)

    @staticmethod
    def _create(path: Path) -> None:
        """Written whole or not at all; of two at once the first one's key stays."""
        draft = path.with_name(f"{path.name}.{os.getpid()}.new")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            opened = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(opened, "w", encoding="ascii") as file:
                file.write(secrets.token_hex(KEY_BYTES) + "\n")
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)
        except OSError as exc:
            message = f"{path} cannot be written: {exc.strerror}"
            raise HomeError(message, fix="Choose another --home.") from exc
        finally:
            draft.unlink(missing_ok=True)

    def mint(
        self,
        clock: Clock,
        *,
        kind: PrincipalKind = PrincipalKind.HUMAN,
        name: str = "",
        ttl_ms: int = DEFAULT_TTL_MS,
    ) -> str:
        """A token for the owner's client (`human`) or for cron and linker."""
        now = clock.now_ms()
        claims = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": OWNER_ID,
            "kind": kind.value,
            "name": name,
            "iat": now // 1000,
            "exp": (now + ttl_ms) // 1000,
            "jti": new_id("tok_", clock),
        }
        return jwt.encode(claims, self._secret, algorithm=ALGORITHM)

    def verify(self, token: str, clock: Clock) -> Principal:
        """The bearer of a token.

        Raises:
            Unauthorized: it is not one of ours, or not any more.
        """
        if len(token) > TOKEN_CHARS:
            raise Unauthorized("The token does not verify")
        try:
            claims = jwt.decode(
                token,
                self._secret,
                algorithms=[ALGORITHM],
                audience=AUDIENCE,
                issuer=ISSUER,
                # The lifetime is checked below, by our own clock.
                options={
                    "require": _REQUIRED,
                    "verify_exp": False,
                    "verify_iat": False,
                    "verify_nbf": False,
                },
            )
        except (jwt.InvalidTokenError, ValueError, TypeError) as exc:
            raise Unauthorized("The token does not verify") from exc
        return _principal(claims, clock.now_ms() // 1000)


def _principal(claims: dict[str, Any], now: int) -> Principal:
    lifetime = (claims["iat"], claims["exp"])
    if not all(type(value) is int for value in lifetime):
        raise Unauthorized("The token does not verify")
    if claims["exp"] <= now:
        raise Unauthorized("The token has expired")
    kind = claims.get("kind")
    if claims["sub"] != OWNER_ID or kind not in set(TOKEN_KINDS):
        raise Unauthorized("The token does not verify")
    return Principal(
        id=OWNER_ID, kind=PrincipalKind(kind), name=str(claims.get("name", ""))
    )
