"""Who a token stands for, and every way in which it stands for nobody."""

from pathlib import Path
from typing import Any

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vancetope.clock import ManualClock
from vancetope.crypto import TOKEN_CHARS, SigningKey
from vancetope.errors import HomeError, Unauthorized
from vancetope.gateway.auth import TokenVerifier
from vancetope.model.principal import OWNER_ID, Principal, PrincipalKind

START_MS = 1_800_000_000_000
#: Long enough for HS512, so that nothing but the algorithm speaks against it.
SECRET = bytes(range(64))
KEY = SigningKey(SECRET)
HOUR_MS = 3_600_000

GOOD: dict[str, Any] = {
    "iss": "vancetope",
    "aud": "vancetope",
    "sub": OWNER_ID,
    "kind": "human",
    "name": "laptop",
    "iat": START_MS // 1000,
    "exp": START_MS // 1000 + 60,
    "jti": "tok_1",
}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_MS)


def verify(token: str) -> Principal:
    return TokenVerifier(KEY, ManualClock(START_MS)).verify(token)


def signed(
    secret: bytes | None = SECRET, algorithm: str = "HS256", **changes: Any
) -> str:
    """A token of these claims; a claim changed to None is left out."""
    claims = {k: v for k, v in {**GOOD, **changes}.items() if v is not None}
    return jwt.encode(claims, secret, algorithm=algorithm)


@pytest.mark.requirement("003-5-jwt-for-humans")
def test_a_humans_token_stands_for_the_owner(clock: ManualClock) -> None:
    who = verify(KEY.mint(clock, name="laptop"))

    assert who == Principal(id=OWNER_ID, kind=PrincipalKind.HUMAN, name="laptop")
    assert who.is_owner


@pytest.mark.requirement("003-5-internal-token")
def test_an_internal_token_acts_for_the_owner_and_says_so(clock: ManualClock) -> None:
    who = verify(KEY.mint(clock, kind=PrincipalKind.INTERNAL, name="cron"))

    assert who == Principal(id=OWNER_ID, kind=PrincipalKind.INTERNAL, name="cron")
    assert who.is_owner


def test_a_token_ends_with_its_lifetime_and_not_before(clock: ManualClock) -> None:
    token = KEY.mint(clock, ttl_ms=HOUR_MS)
    verifier = TokenVerifier(KEY, clock)

    clock.advance(HOUR_MS - 1)
    assert verifier.verify(token).id == OWNER_ID
    clock.advance(1)
    with pytest.raises(Unauthorized, match="expired"):
        verifier.verify(token)


#: Each differs in one thing from the good token of the test after it.
FOREIGN = {
    "another key": signed(bytes(64)),
    "no signature": signed(None, "none"),
    "another algorithm": signed(SECRET, "HS512"),
    "another issuer": signed(iss="elsewhere"),
    "another audience": signed(aud="elsewhere"),
    "another subject": signed(sub="somebody"),
    "a robot, which has a key of its own": signed(kind="robot"),
    "an unknown kind": signed(kind="root"),
    "no kind": signed(kind=None),
    "no end": signed(exp=None),
    "an end that is no number": signed(exp="never"),
    "an end that is true": signed(exp=True),
    "no start": signed(iat=None),
    "no id": signed(jti=None),
    "no audience": signed(aud=None),
    "no issuer": signed(iss=None),
    "no subject": signed(sub=None),
    "far too long": signed(name="x" * TOKEN_CHARS),
    "a changed claim": signed().replace(
        signed().split(".")[1], signed(kind="internal").split(".")[1]
    ),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_any_other_token_stands_for_nobody(case: str) -> None:
    with pytest.raises(Unauthorized) as caught:
        verify(FOREIGN[case])

    assert FOREIGN[case] not in str(caught.value)


def test_the_token_the_foreign_ones_are_made_from_is_good() -> None:
    assert verify(signed()).name == "laptop"


@given(st.text() | st.from_regex(r"[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*"))
def test_any_text_stands_for_nobody(text: str) -> None:
    with pytest.raises(Unauthorized):
        verify(text)


def test_a_homes_key_is_made_once_for_the_owner_alone(
    tmp_path: Path, clock: ManualClock
) -> None:
    path = tmp_path / "home" / "secrets.key"
    token = SigningKey.of_home(path).mint(clock)

    assert path.stat().st_mode & 0o777 == 0o600
    assert [found.name for found in path.parent.iterdir()] == ["secrets.key"]
    assert SigningKey.of_home(path).verify(token, clock).id == OWNER_ID


@pytest.mark.parametrize("content", ["", "abc", "00" * 31, "zz" * 32, "\N{BULLET}"])
def test_a_broken_key_file_is_named_and_left_alone(
    tmp_path: Path, content: str
) -> None:
    path = tmp_path / "secrets.key"
    path.write_text(content, encoding="utf-8")

    with pytest.raises(HomeError, match=r"secrets\.key is not a key"):
        SigningKey.of_home(path)
    assert path.read_text(encoding="utf-8") == content


def test_a_key_shows_nothing_of_its_secret() -> None:
    assert SECRET.hex() not in repr(KEY)
    assert repr(SECRET) not in repr(KEY)
