"""Identifiers: a prefix that says what it names, then 128 bits in 26 characters.

The first ten characters are the time in milliseconds, so ids sort by creation; the
last sixteen are 80 random bits, so that they cannot be guessed.
"""

import secrets

from vancetope.clock import Clock

PROCESS = "tp_"
TASK = "task_"
CALL = "call_"
SESSION = "sess_"
CLIENT = "cl_"

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_LENGTH = 26


def new_id(prefix: str, clock: Clock) -> str:
    """A new identifier such as `tp_01jd2k3v9c6m7q8r9s0t1v2w3x`."""
    number = (clock.now_ms() << 80) | secrets.randbits(80)
    return prefix + "".join(
        _ALPHABET[(number >> shift) & 31] for shift in range(5 * (_LENGTH - 1), -1, -5)
    )
