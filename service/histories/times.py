"""The time at which a line of a log was written."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from service.report.figures import duration

HEAD: Final = 300
"""Characters of a line among which its time is."""

_DATED: Final = re.compile(
    r"(?P<year>20\d\d)-(?P<month>\d\d)-(?P<day>\d\d)[T ](?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
    r"(?:[.,](?P<fraction>\d{1,9}))?\s?(?P<zone>Z|[+-]\d\d:?\d\d)?"
)
_SPARK: Final = re.compile(
    r"(?P<year>\d\d)/(?P<month>\d\d)/(?P<day>\d\d) (?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?P<fraction>)(?P<zone>)"
)
_UNIX: Final = re.compile(r'(?:^|%\d\||"(?:ts|time|timestamp)": ?"?|^\[)(?P<seconds>1\d{9})[.,]?(?P<ms>\d{3})?\d*\b')

_DAY: Final = re.compile(r"^\W?(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)[.,](?P<fraction>\d{3})\b")

UTC_CLOCK, LOCAL_CLOCK, DAY_CLOCK = "utc", "local", "day"
DAY_MS: Final = 86_400_000


class LineTime(NamedTuple):
    """A time: ms since 1970, of UTC, or of a local time whose zone the line does not tell as if it were UTC, or of a
    day that it does not tell.
    """

    at_ms: int
    clock: str


def stamp_of(line: str) -> LineTime | None:
    """The time at the head of a line; None if it has none."""
    head = line[:HEAD]
    if match := _DATED.search(head) or _SPARK.search(head):
        parts = match.groupdict()
        year = int(parts["year"]) + (2000 if len(parts["year"]) == 2 else 0)
        try:
            month, day, hour, minute, second = (int(parts[name]) for name in ("month", "day", "hour", "minute", "second"))
            when = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
        except ValueError:
            return None
        at_ms = int(when.timestamp()) * 1000 + int((parts["fraction"] or "0").ljust(3, "0")[:3])
        if not parts["zone"]:
            return LineTime(at_ms, LOCAL_CLOCK)
        return LineTime(at_ms - _offset_ms(parts["zone"]), UTC_CLOCK)
    if match := _DAY.search(head):
        hour, minute, second, fraction = map(int, match.groups())
        return LineTime(((hour * 60 + minute) * 60 + second) * 1000 + fraction, DAY_CLOCK)
    if match := _UNIX.search(head):
        return LineTime(int(match["seconds"]) * 1000 + int(match["ms"] or 0), UTC_CLOCK)
    return None


def _offset_ms(zone: str) -> int:
    if zone == "Z":
        return 0
    digits = zone[1:].replace(":", "")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return (-1 if zone[0] == "-" else 1) * minutes * 60_000


def written(at_ms: int, clock: str) -> str:
    """``2026-11-29T13:55:02.123Z``; of a local clock without the Z, of a time of day that alone."""
    if clock == DAY_CLOCK:
        seconds_of_day = at_ms // 1000
        return f"{seconds_of_day // 3600 % 24:02}:{seconds_of_day // 60 % 60:02}:{seconds_of_day % 60:02}.{at_ms % 1000:03}"
    when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at_ms)
    return when.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at_ms % 1000:03}" + ("Z" if clock == UTC_CLOCK else "")


def seconds(milliseconds: float) -> str:
    """``450 ms``, ``12.5 s``, ``3.2 h``."""
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else duration(milliseconds / 1000)
