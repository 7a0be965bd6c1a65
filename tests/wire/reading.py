"""Shorthand of the tests that read single frames."""

import json

import pytest

from vance_sdk.wire.codec import decode_inbound
from vance_sdk.wire.errors import ProtocolError
from vance_sdk.wire.limits import FRAME_BYTES
from vance_sdk.wire.messages import Inbound


def read(frame: object) -> Inbound:
    text = frame if isinstance(frame, str | bytes) else json.dumps(frame)
    return decode_inbound(text, max_bytes=FRAME_BYTES)


def refusal_of(frame: object) -> ProtocolError:
    with pytest.raises(ProtocolError) as caught:
        read(frame)
    return caught.value
