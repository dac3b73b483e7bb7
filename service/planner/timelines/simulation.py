"""A timeline from its start to its end."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from service.core.assignors import Assignor
from service.core.model import NONE
from service.planner.timelines.classic.coordinator import ClassicCoordinator
from service.planner.timelines.course import Course
from service.planner.timelines.events import Events
from service.planner.timelines.model import (
    NEVER,
    End,
    Event,
    Reading,
    Tick,
    Timeline,
    TimelineOutcome,
    TimelineRebalance,
    Timing,
    Totals,
    Unread,
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
        had_members, derived, cells = bool(course.members.all), course.members.derived, course.clock.spent
        start = _totals(course, rebalances, is_start=True) if course.forms else None
        totals = _totals(course, rebalances, is_start=False)
        end, readings = self._end(), _readings(course)
        return TimelineOutcome(rebalances, totals, start, end, course.alike, had_members, derived, readings, cells)

    def _end(self) -> End:
        """How the group is now."""
        course, coordinator = self.course, self.events.clients.coordinator
        running, since = course.running(), course.ledger.unread_since()
        leader = coordinator.leader if isinstance(coordinator, ClassicCoordinator) else NONE
        leader_id = course.present[leader].member_id if leader in course.present else None
        subscribed = {topic for member in running for topic in course.members.topics_of(member.number)}
        unread, sizes = np.flatnonzero(since < NEVER), course.topology.counts
        topics, first, counts = np.unique(course.topology.topic_of[unread], return_index=True, return_counts=True)
        latest = np.maximum.reduceat(since[unread], first).tolist() if len(first) else []
        rows = tuple(
            Unread(topic, count, int(sizes[topic]), at, reason if running else "no_member")
            for topic, count, at in zip(topics.tolist(), counts.tolist(), latest, strict=True)
            for reason in ("not_assigned" if topic in subscribed else "no_subscriber",)
        )
        empty_since = None if running else int(course.members.columns.died[: len(course.members.all)].max(initial=0))
        return End(coordinator.state, len(running), empty_since, leader_id, int(course.ledger.existing.sum()), rows)


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


def _totals(course: Course, every: list[TimelineRebalance], *, is_start: bool) -> Totals:
    """What the events cost, or the forming of the group."""
    rebalances = [each for each in every if each.is_start == is_start]
    last_event = 0 if is_start else max((event.at_ms for event in course.timeline.events), default=0)
    end_ms = max([last_event, *(rebalance.stable_at_ms or rebalance.at_ms for rebalance in rebalances)])
    ledger, start_requests = course.ledger, course.start_requests
    catch_ups = [rebalance.catch_up_ms for rebalance in rebalances if rebalance.catch_up_ms is not None]
    rated = course.timing.consumption_rate is not None and ledger.weights is not None
    moves = [rebalance.movement for rebalance in rebalances if rebalance.movement is not None]
    undelivered = ledger.start_undelivered if is_start else ledger.undelivered
    return Totals(
        rebalances=len(rebalances),
        idle=ledger.start_idle if is_start else ledger.idle,
        moved=sum(move.moved for move in moves) + sum(rebalance.withheld for rebalance in rebalances),
        revoked=sum(move.revoked for move in moves),
        worst_skew=max((rebalance.load.skew for rebalance in rebalances if rebalance.load is not None), default=1.0),
        requests=start_requests if is_start else course.requests_total - start_requests,
        end_ms=end_ms,
        undelivered=None if ledger.weights is None else undelivered,
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
