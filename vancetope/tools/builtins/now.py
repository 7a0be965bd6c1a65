"""`now`: the date and time somewhere."""

from datetime import UTC, datetime
from difflib import get_close_matches
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from vancetope.clock import Clock
from vancetope.errors import ToolFailed
from vancetope.model.json import JsonObject

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SUGGESTIONS = 3
_LONGEST = 64


def now(clock: Clock, *, zone: str = "UTC") -> JsonObject:
    """The current instant in an IANA time zone.

    Returns `{iso, date, time, weekday, zone, unix}`: `iso` with the offset, to the
    second; `weekday` in English; `unix` in whole seconds.

    Raises:
        ToolFailed: no such zone; names the nearest ones.
    """
    seconds = clock.now_ms() // 1000
    here = datetime.fromtimestamp(seconds, UTC).astimezone(_zone(zone))
    return {
        "iso": here.isoformat(),
        "date": here.date().isoformat(),
        "time": here.time().isoformat(),
        "weekday": _DAYS[here.weekday()],
        "zone": zone,
        "unix": seconds,
    }


@cache
def _names() -> dict[str, str]:
    """Zone names by their lower-case form and by their last part's."""
    names: dict[str, str] = {}
    for name in sorted(available_timezones()):
        names.setdefault(name.lower(), name)
        names.setdefault(name.rpartition("/")[2].lower(), name)
    return names


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass
    wanted = name[:_LONGEST].strip().lower().replace(" ", "_")
    near = get_close_matches(wanted, _names(), n=_SUGGESTIONS, cutoff=0.6)
    zones = list(dict.fromkeys(_names()[key] for key in near))
    hint = f"did you mean {', '.join(zones)}?" if zones else "try Europe/Berlin or UTC"
    msg = f"now: no time zone {name!r:.60}; {hint}"
    raise ToolFailed(msg)
