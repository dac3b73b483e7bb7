"""A timeline from its start to its end."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate

from service.core.assignors import Assignor
from service.core.timelines.course import Course
from service.core.timelines.events import Events
from service.core.timelines.model import (
    NEVER,
    Event,
    Idle,
    Reading,
    Tick,
    Timeline,
    TimelineOutcome,
    TimelineRebalance,
    Timing,
    Totals,
)


class Simulation:
    """A timeline that is being lived through, as far as ``run`` has come.

    It can be copied (``copy.deepcopy``) at any time and continued: the two halves are the whole. ``close`` ends its use.
    """

    def __init__(self, timeline: Timeline) -> None:
        self.events = Events(timeline)
        self.course = self.events.course
        self.events.begin()

    def run(self, tick: Tick = lambda _: None, until_ms: int = NEVER) -> None:
        """Go on to ``until_ms``, or to the end. Raises InvalidQuestion for an event that cannot happen."""
        self.course.clock.run(tick, until_ms)

    def close(self) -> None:
        """Let go of everything but the outcome."""
        self.course.close()

    def outcome(self) -> TimelineOutcome:
        """What has come out until now."""
        course = self.course
        rebalances = [rebalance for rebalance in course.rebalances if rebalance.epoch]
        state = self.events.clients.coordinator.state
        totals, readings = _totals(course, rebalances), _readings(course)
        return TimelineOutcome(rebalances, totals, state, course.members.derived, readings, course.clock.spent)


def _readings(course: Course) -> list[Reading] | None:
    if course.ledger.log is None:
        return None
    steps: list[dict[int, int]] = [{} for _ in course.members.all]
    for at, number, change in sorted(course.ledger.log):
        steps[number][at] = steps[number].get(at, 0) + change
    readings = []
    for member, changes in zip(course.members.all, steps, strict=True):
        counts = accumulate(changes.values())
        died = int(course.members.columns.died[member.number])
        ended = None if died == NEVER else died
        readings.append(Reading(member.member_id, member.name, member.started_ms, ended, list(zip(changes, counts, strict=True))))
    return readings


def _totals(course: Course, rebalances: list[TimelineRebalance]) -> Totals:
    last_event = max((event.at_ms for event in course.timeline.events), default=0)
    end_ms = max([last_event, *(rebalance.stable_at_ms or rebalance.at_ms for rebalance in rebalances)])
    open_ms, longest, missed = course.ledger.open_ms(end_ms)
    catch_ups = [rebalance.catch_up_ms for rebalance in rebalances if rebalance.catch_up_ms is not None]
    rated = course.timing.consumption_rate is not None and course.ledger.weights is not None
    moves = [rebalance.movement for rebalance in rebalances if rebalance.movement is not None]
    return Totals(
        rebalances=len(rebalances),
        idle=course.ledger.idle.with_more(Idle.exactly(open_ms, longest)),
        moved=sum(move.moved for move in moves) + sum(rebalance.withheld for rebalance in rebalances),
        revoked=sum(move.revoked for move in moves),
        worst_skew=max((rebalance.load.skew for rebalance in rebalances if rebalance.load is not None), default=1.0),
        requests=course.requests_total,
        end_ms=end_ms,
        undelivered=None if course.ledger.weights is None else course.ledger.undelivered + missed,
        longest_catch_up_ms=max(catch_ups, default=0.0) if rated else None,
    )


@dataclass(frozen=True)
class Variant:
    """A way to run the group.

    static : must all members have a ``group.instance.id`` (True), none (False), or as given (None)?
    timing : what broker and clients wait for in this way
    changes : number of an event that changes the assignor → the protocol and the assignor of the group from then on
    """

    group_protocol: str
    assignor: Assignor
    static: bool | None
    timing: Timing
    changes: Mapping[int, tuple[str, Assignor]]


def varied(timeline: Timeline, variant: Variant) -> Timeline:
    """The same events for a group that is run in another way; only totals are kept. A member's id becomes its instance_id."""
    group, static = timeline.group, variant.static
    if static is not None:
        ids = tuple(instance or member for instance, member in zip(group.instance_ids, group.member_ids, strict=True))
        group = replace(group, instance_ids=ids if static else (None,) * len(group))
    return replace(
        timeline,
        group_protocol=variant.group_protocol,
        assignor=variant.assignor,
        timing=variant.timing,
        group=group,
        events=tuple(_varied(event, variant.changes.get(i), static=static) for i, event in enumerate(timeline.events)),
        detail="totals",
        most_explained=0,
    )


def _varied(event: Event, change: tuple[str, Assignor] | None, *, static: bool | None) -> Event:
    if change is not None:
        return replace(event, group_protocol=change[0], assignors=(change[1],))
    if event.member is None or static is None:
        return event
    instance_id = (event.member.instance_id or event.member.name or event.member.member_id) if static else None
    return replace(event, member=replace(event.member, instance_id=instance_id))
