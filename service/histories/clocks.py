"""The clocks of several sources: aligned by what the sources share, with the uncertainty.

A log seldom tells its time zone, and machines are not in step. But the coordinator numbers what it does: the time at which it
had all members of generation 7 is in its log, in the record that it has stored (in UTC), and a little later in the log of each
member.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Final, NamedTuple

from service.core.printable import all_of, counted
from service.histories.events import Kind, ToldEvent
from service.histories.reading import SourcesRead
from service.histories.times import DAY_CLOCK, DAY_MS, LOCAL_CLOCK, UTC_CLOCK, seconds, written

SHARED: Final = {
    Kind.STABILIZED: "joined",
    Kind.EMPTIED: "joined",
    Kind.JOINED: "joined",
    Kind.BUMPED: "bumped",
    Kind.TARGET: "target",
    Kind.JOINS: "member",
    Kind.RETURNS: "member",
    Kind.RECONCILED: "reconciled",
    Kind.PREPARING: "began",
}
"""Kinds of events that several sources tell of at the same time."""

SAID_MS: Final = 1_000
"""A clock that is less wrong is not worth a sentence: the sources have the figures."""

Anchors = dict[tuple[str, int | None, str | None], int]


class SourceClock(NamedTuple):
    """How a source's clock is read.

    shift_ms : what is added to its times; None: they are not comparable with those of the others
    spread_ms : by how much the shared events disagree; shared : how many they are
    """

    shift_ms: int | None
    spread_ms: int = 0
    shared: int = 0


@dataclass(frozen=True)
class Aligned:
    """Events in the order of time, each with its time by the common clock (None: it has none).

    clock : UTC_CLOCK, or LOCAL_CLOCK if no source tells its zone; clocks : of each source; notes : sentences
    unplaced : the events of sources whose clocks are not comparable
    """

    events: list[tuple[int | None, ToldEvent]]
    clock: str
    clocks: list[SourceClock]
    notes: list[str]
    unplaced: list[ToldEvent]


def align(reading: SourcesRead) -> Aligned:
    """The events of all sources by one clock."""
    count = len(reading.names)
    by_source: list[list[ToldEvent]] = [[] for _ in range(count)]
    for event in reading.events:
        by_source[event.source].append(event)
    anchors = [_anchors(events) for events in by_source]
    zones = [next((event.at.clock for event in events if event.at), None) for events in by_source]
    timed = [i for i in range(count) if zones[i] is not None]
    clocks = _connected(anchors, sorted(timed, key=lambda i: -len(by_source[i])))
    reference = next((i for i in clocks if zones[i] == UTC_CLOCK), next(iter(clocks), 0))
    clock = (zones[reference] if timed else None) or LOCAL_CLOCK
    base = clocks[reference].shift_ms or 0 if timed else 0
    if base:  # what the reference shares with the first is what the first shares with the reference
        first = next(iter(clocks))
        clocks[first] = clocks[reference]._replace(shift_ms=0)
        clocks[reference] = SourceClock(base)
    ordered = [
        clocks[i]._replace(shift_ms=(clocks[i].shift_ms or 0) - base)
        if i in clocks
        else SourceClock(0 if zones[i] == clock or count == 1 else None)
        for i in range(count)
    ]
    placed = sorted(_placed(by_source, ordered), key=lambda each: (each[0], each[2].source, each[2].line))
    unplaced = [event for i in range(count) if ordered[i].shift_ms is None for event in by_source[i]]
    events = [(at, event) for _, at, event in placed]
    return Aligned(events, clock, ordered, list(_notes(reading, ordered, zones, by_source)), unplaced)


def _connected(anchors: list[Anchors], sources: list[int]) -> dict[int, SourceClock]:
    """The clocks of the sources that share events with the first, or with one that does; by the clock of the first."""
    clocks = {i: SourceClock(0) for i in sources[:1]}
    known: Anchors = dict(anchors[sources[0]]) if sources else {}
    left = sources[1:]
    while left:
        found = max(left, key=lambda i: len(anchors[i].keys() & known.keys()))
        differences = [known[key] - anchors[found][key] for key in anchors[found].keys() & known.keys()]
        if not differences:
            break
        clocks[found] = SourceClock(round(median(differences)), max(differences) - min(differences), len(differences))
        known = {key: at + (clocks[found].shift_ms or 0) for key, at in anchors[found].items()} | known
        left.remove(found)
    return clocks


def _anchors(events: list[ToldEvent]) -> Anchors:
    """What other sources may tell of, too, and when it was by this clock. What comes twice is none."""
    found: Anchors = {}
    twice = set()
    key: tuple[str, int | None, str | None]
    for event in events:
        if event.kind == Kind.RECORDED and event.says["state_ms"] >= 0:
            key, at_ms = ("joined", event.generation, None), event.says["state_ms"]
        elif event.kind in SHARED and event.at is not None:
            at_ms, of_member = event.at.at_ms, event.kind in (Kind.JOINS, Kind.RECONCILED)
            key = (SHARED[event.kind], event.generation, event.member if of_member else None)
            if event.kind == Kind.RETURNS:
                key = ("member", None, event.says.get("new_member", ""))
            elif event.kind == Kind.RECONCILED and "client_id" in event.says:
                if event.says["before"] != "JOINING":
                    continue
                is_static = "instance_id" in event.says  # it returns without a new epoch, but with a new id
                key = ("member", None, event.member) if is_static else ("bumped", event.generation, None)
            elif event.kind == Kind.RECONCILED and event.says.get("state") != "STABLE":
                continue
        else:
            continue
        if event.kind in (Kind.JOINED, Kind.RECONCILED):  # several members tell of it; the first is the nearest
            found.setdefault(key, at_ms)
        else:
            twice |= {key} if found.setdefault(key, at_ms) != at_ms else set()
    return {key: at for key, at in found.items() if key not in twice}


def _placed(by_source: list[list[ToldEvent]], clocks: list[SourceClock]) -> Iterator[tuple[int, int | None, ToldEvent]]:
    """A place in the order of time, the time, and the event. A line without a time is where the last one with a time is."""
    seen = set()
    for events, clock in zip(by_source, clocks, strict=True):
        if clock.shift_ms is None:
            continue
        timed = (event.at.at_ms for event in events if event.at is not None)
        last = next(timed, 0) + clock.shift_ms
        for event in events:
            at_ms = None if event.at is None else event.at.at_ms + clock.shift_ms
            last = last if at_ms is None else at_ms
            same = (at_ms, event.kind, event.member, event.generation, event.text)
            if at_ms is None or same not in seen:  # rotated files may overlap
                yield last, at_ms, event
            if at_ms is not None and len(by_source) > 1:
                seen.add(same)


def _notes(
    reading: SourcesRead,
    clocks: list[SourceClock],
    zones: list[str | None],
    by_source: list[list[ToldEvent]],
) -> Iterator[str]:
    names = reading.names
    for name, clock, zone in zip(names, clocks, zones, strict=True):
        if clock.shared and clock.shift_ms is not None and max(abs(clock.shift_ms), clock.spread_ms) >= SAID_MS:
            agree = f", which agree to {seconds(clock.spread_ms)}" if clock.shared > 1 else ""
            by = f"by {counted(clock.shared, 'shared event')}{agree}"
            if zone == DAY_CLOCK:
                date = written(clock.shift_ms + DAY_MS // 2, LOCAL_CLOCK)[:10]
                yield f"The times of {name} have no date: they begin on {date}, {by}."
            else:
                ahead = "behind" if clock.shift_ms > 0 else "ahead"
                yield f"The clock of {name} is {seconds(abs(clock.shift_ms))} {ahead}, {by}."
        if clock.shift_ms is None and zone is not None:
            yield f"The clock of {name} shares no event with the others and tells another zone, or none: its times are not used."
        if zone is None and by_source[names.index(name)]:
            yield f"The lines of {name} have no time."
    equal = [i for i, clock in enumerate(clocks) if clock.shift_ms == 0 and zones[i] == LOCAL_CLOCK]
    if len(equal) > 1 and not any(clocks[i].shared for i in equal):
        yield f"The clocks of {all_of([names[i] for i in equal], 3)} share no event and tell no zone: they are taken as equal."
    for name, own in zip(names, by_source, strict=True):
        times = [(event.at.at_ms, event) for event in own if event.at is not None and event.kind != Kind.RECORDED]
        back = next(((a[0] - b[0], b[1]) for a, b in pairwise(times) if b[0] < a[0] - 1000), None)
        if back is not None:
            yield f"The clock of {name} goes back by {seconds(back[0])} at line {back[1].line}."
