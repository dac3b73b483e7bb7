"""A timeline from its start to its end."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

from service.core.assignors import Assignor
from service.core.timelines.classic.clients import ClassicTimeline
from service.core.timelines.consumer.clients import ConsumerTimeline
from service.core.timelines.group import GroupTimeline
from service.core.timelines.model import NEVER, Event, Idle, Outcome, Reading, Tick, Timeline, Timing, Totals
from service.core.timelines.share import ShareTimeline

PROTOCOLS: Final[dict[str, type[GroupTimeline]]] = {
    "classic": ClassicTimeline,
    "consumer": ConsumerTimeline,
    "share": ShareTimeline,
}


class Simulation:
    """A timeline that is being lived through, as far as ``run`` has come.

    It can be copied (``copy.deepcopy``) at any time and continued: the two halves are the whole.
    """

    def __init__(self, timeline: Timeline) -> None:
        self._first = PROTOCOLS[timeline.group_protocol](timeline)
        self._first.begin()

    @property
    def group(self) -> GroupTimeline:
        """The group as it is now."""
        return self._first.last_heir()

    def run(self, tick: Tick = lambda _: None, until_ms: int = NEVER) -> None:
        """Go on to ``until_ms``, or to the end. Raises InvalidQuestion for an event that cannot happen."""
        self.group.clock.run(tick, until_ms)

    def outcome(self) -> Outcome:
        """What has come out until now."""
        group = self.group
        rebalances = [rebalance for rebalance in group.rebalances if rebalance.epoch]
        return Outcome(rebalances, _totals(group), group.state(), group.members.derived, _readings(group))


def _readings(group: GroupTimeline) -> list[Reading] | None:
    if group.ledger.log is None:
        return None
    steps: list[dict[int, int]] = [{} for _ in group.members.all]
    for at, number, change in sorted(group.ledger.log):
        steps[number][at] = steps[number].get(at, 0) + change
    readings = []
    for member, changes in zip(group.members.all, steps, strict=True):
        counts = accumulate(changes.values())
        died = int(group.members.died[member.number])
        ended = None if died == NEVER else died
        readings.append(Reading(member.member_id, member.name, member.started_ms, ended, list(zip(changes, counts, strict=True))))
    return readings


def _totals(group: GroupTimeline) -> Totals:
    rebalances = [rebalance for rebalance in group.rebalances if rebalance.epoch]
    last_event = max((event.at_ms for event in group.timeline.events), default=0)
    end_ms = max([last_event, *(rebalance.stable_at_ms or rebalance.at_ms for rebalance in rebalances)])
    open_ms, longest, missed = group.ledger.open_ms(end_ms)
    catch_ups = [rebalance.catch_up_ms for rebalance in rebalances if rebalance.catch_up_ms is not None]
    rated = group.timing.consumption_rate is not None and group.ledger.weights is not None
    moves = [rebalance.movement for rebalance in rebalances if rebalance.movement is not None]
    return Totals(
        rebalances=len(rebalances),
        idle=group.ledger.idle.with_more(Idle.exactly(open_ms, longest)),
        moved=sum(move.moved for move in moves) + sum(rebalance.withheld for rebalance in rebalances),
        revoked=sum(move.revoked for move in moves),
        worst_skew=max((rebalance.load.skew for rebalance in rebalances if rebalance.load is not None), default=1.0),
        requests=group.requests_total,
        end_ms=end_ms,
        undelivered=None if group.ledger.weights is None else group.ledger.undelivered + missed,
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
    instance_id = (event.member.instance_id or event.member.member_id) if static else None
    return replace(event, member=replace(event.member, instance_id=instance_id))
