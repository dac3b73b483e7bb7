"""What would have been: the events of a history, replayed by the simulator for a group that is run in other ways."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from service.core.budget import Budget
from service.core.documents import Json
from service.core.errors import AllocatorError
from service.core.kafka_versions import LATEST
from service.core.printable import counted
from service.decisions.groups.question import of_rows
from service.decisions.rebalances.answer import Way, answer
from service.decisions.rebalances.question import RebalancesQuestion
from service.descriptions.model import by_topic, listed
from service.histories.causes import GOES, Why
from service.histories.checks import counts
from service.histories.events import MemberNames, PastRebalance, StoredMember
from service.histories.times import seconds

SESSION_MS: Final = 45_000
POLL_MS: Final = 300_000
HEARTBEAT_MS: Final = 3_000
"""Kafka's defaults, where no record tells the time-outs."""

LONGEST_SESSION_MS: Final = 60_000
"""Of a consumer group: ``group.consumer.max.session.timeout.ms``."""

MOST_EVENTS: Final = 2_000
WAYS: Final[tuple[tuple[str, Json], ...]] = (
    ("static members", {"static": True}),
    ("cooperative-sticky", {"group_protocol": "classic", "assignor": "cooperative-sticky"}),
    ("the consumer protocol (KIP-848)", {"group_protocol": "consumer"}),
    ("balanced", {"group_protocol": "classic", "assignor": "balanced"}),
)


class OtherWay(NamedTuple):
    """A way to run the group, simulated.

    name : in words; rebalances, moved : how many, and how many partitions changed their reader
    idle_ms : without a reader, summed over partitions; least_idle_ms, most_idle_ms : depending on when members heartbeat and poll
    """

    name: str
    rebalances: int
    moved: int
    idle_ms: int
    least_idle_ms: int
    most_idle_ms: int


@dataclass(frozen=True)
class Otherwise:
    """ways : the group as it was, simulated, and other ways; conclusion, notes : sentences"""

    ways: list[OtherWay]
    conclusion: str
    notes: list[str]


def otherwise(rebalances: list[PastRebalance], members: dict[str, StoredMember], names: MemberNames, budget: Budget) -> Otherwise:
    """Replay what is told from the first rebalance on whose members and assignment are known."""
    known = (_counts(each) and each.at_ms is not None and each.assignor is not None for each in rebalances)
    first = next((i for i, is_known in enumerate(known) if is_known), None)
    if first is None:
        return Otherwise([], "The events cannot be replayed: who had which partitions is not told (records tell it).", [])
    start = rebalances[first]
    replay = _Replay(start, members, names)
    for each in rebalances[first + 1 :]:
        replay.take(each)
    timing = _timing(start, members)
    group = of_rows(*_group(start, members))
    events = sorted(replay.events, key=lambda event: event["at_ms"])[:MOST_EVENTS]
    question = RebalancesQuestion(
        group.topics, group.members, events, timing, [way for _, way in WAYS], start.protocol,
        start.assignor, kafka_version=LATEST, detail="totals",
    )  # fmt: skip
    longer = timing | {name: 2 * timing[name] for name in ("session_timeout_ms", "rebalance_timeout_ms")}
    if start.protocol == "consumer":
        longer["session_timeout_ms"] = min(longer["session_timeout_ms"], LONGEST_SESSION_MS)
    try:
        found = answer(question, budget)
        patient = answer(replace(question, timing=longer, compare=()), budget)
    except AllocatorError as error:
        return Otherwise([], f"The events cannot be replayed. {error}", [])
    names_of = ("as it was, simulated", *(name for name, _ in WAYS), "time-outs twice as long")
    ways = [_way(name, way) for name, way in zip(names_of, (found.first, *found.others, patient.first), strict=True)]
    return Otherwise(ways, _conclusion(ways, rebalances[first + 1 :], stalls=replay.stalls), list(replay.notes(timing)))


def _timing(start: PastRebalance, members: dict[str, StoredMember]) -> dict[str, int]:
    known = [members[each] for each in start.assigned or () if each in members]
    session = max((each.session_ms for each in known if each.session_ms), default=SESSION_MS)
    poll = max((each.rebalance_ms for each in known if each.rebalance_ms), default=POLL_MS)
    return {
        "session_timeout_ms": session,
        "rebalance_timeout_ms": poll,
        "heartbeat_interval_ms": min(HEARTBEAT_MS, session // 3),
        "min_session_timeout_ms": min(session, 6_000),
    }


def _group(start: PastRebalance, members: dict[str, StoredMember]) -> tuple[list[Json], list[Json]]:
    sizes = _counts(start)
    known = {each: members.get(each) or StoredMember(each) for each in start.assigned or ()}
    rows = [
        {
            "member_id": each,
            "instance_id": known[each].instance_id,
            "topic_names": [topic for topic in known[each].topics or () if topic in sizes] or None,
            "owned_partitions": listed(by_topic(partitions)),
        }
        for each, partitions in (start.assigned or {}).items()
    ]
    return [{"topic_name": topic, "partitions_count": count} for topic, count in sorted(sizes.items())], rows


def _counts(rebalance: PastRebalance) -> dict[str, int]:
    return counts(partition for partitions in (rebalance.assigned or {}).values() for partition in partitions)


class _Replay:
    """Makes events of causes.

    present : member's name → its id in the simulation; away : name → the event with which it went, which is a restart
    if it comes back, and since when it had not polled, if that is why: then it has stalled
    """

    def __init__(self, start: PastRebalance, members: dict[str, StoredMember], names: MemberNames) -> None:
        self.start_ms, self.members, self.names = start.ended_ms or start.joined_ms or start.at_ms or 0, members, names
        self.counts = _counts(start)
        self.present = {names(each): each for each in start.assigned or ()}
        self.away: dict[str, tuple[dict[str, Any], int | None]] = {}
        self.events: list[dict[str, Any]] = []
        self.skipped = 0

    def take(self, rebalance: PastRebalance) -> None:
        """The events of a rebalance."""
        at_ms = max(0, (rebalance.at_ms or self.start_ms) - self.start_ms)
        for cause in rebalance.causes:
            made = [event for member in cause.members for event in self._event(cause.kind, member, at_ms, rebalance)]
            self.events += made
            self.skipped += not made and cause.kind not in (Why.REVOCATION, Why.JOIN, Why.PARTITIONS)
        self.skipped += not rebalance.causes
        for topic, count in _counts(rebalance).items():
            if count > self.counts.get(topic, count):
                self.events.append({"at_ms": at_ms, "type": "partitions_added", "topic_name": topic, "partitions_count": count})
            self.counts[topic] = max(count, self.counts.get(topic, 0))

    def _event(self, kind: Why, member: str, at_ms: int, rebalance: PastRebalance) -> Iterator[dict[str, Any]]:
        name, known = self.names(member), self.members.get(member) or StoredMember(member)
        topics = [topic for topic in known.topics or () if topic in self.counts]
        if kind == Why.JOIN and name not in self.present:
            went, stalled_ms = self.away.pop(name, (None, None))
            self.present[name] = member if went is None or stalled_ms is None else went["member_id"]
            if went is None:
                row = {"member_id": member, "instance_id": known.instance_id, "topic_names": topics or list(self.counts)}
                yield {"at_ms": at_ms, "type": "member_joins", "member": row}
            elif stalled_ms is not None:
                went |= {"type": "member_stalls", "at_ms": stalled_ms, "for_ms": max(1, at_ms - stalled_ms)}
            else:
                went |= {"type": "member_restarts", "down_ms": at_ms - went["at_ms"]}
                went |= {"new_member_id": member} if member != went["member_id"] else {}
        elif kind in GOES and name in self.present:
            before_ms = known.session_ms or 0 if kind == Why.SESSION else 0  # one that is not told cannot be taken off
            event = {"at_ms": max(0, at_ms - before_ms), "member_id": self.present.pop(name)}
            event["type"] = "member_crashes" if before_ms else "member_leaves"
            if not before_ms:
                stalled_ms = max(0, at_ms - (known.rebalance_ms or POLL_MS)) if kind == Why.POLL else None
                self.away[name] = event, stalled_ms
            yield event
        elif kind == Why.SUBSCRIPTION and name in self.present and rebalance.records and topics:
            yield {"at_ms": at_ms, "type": "subscription_changes", "member_id": self.present[name], "topic_names": topics}

    @property
    def stalls(self) -> bool:
        """Whether a member did not poll for a time."""
        return any(event["type"] == "member_stalls" for event in self.events)

    def notes(self, timing: dict[str, int]) -> Iterator[str]:
        """What is uncertain."""
        yield (
            f"Simulated with a session time-out of {seconds(timing['session_timeout_ms'])} and max.poll.interval of "
            f"{seconds(timing['rebalance_timeout_ms'])}; members are taken to heartbeat every "
            f"{seconds(timing['heartbeat_interval_ms'])} and to poll every second, which no source tells."
        )
        if self.stalls:
            yield (
                "A member that does not poll counts as a reader until it is removed, although it reads nothing: longer time-outs "
                "spare rebalances, and leave its partitions unread for longer."
            )
        if self.skipped:
            yield f"{counted(self.skipped, 'cause')} could not be replayed."
        if len(self.events) > MOST_EVENTS:
            yield f"The first {MOST_EVENTS:,} of {len(self.events):,} events are replayed."


def _way(name: str, way: Way) -> OtherWay:
    totals = way.outcome.totals
    idle = totals.idle
    return OtherWay(name, totals.rebalances, totals.moved, idle.sum_ms, idle.least_sum_ms, idle.most_sum_ms)


def _conclusion(ways: list[OtherWay], told: list[PastRebalance], *, stalls: bool) -> str:
    """The simulation beside what was, which shows how far it can be trusted, and the way with the fewest rebalances.

    stalls : of members, whose partitions count as read; then times are not compared
    """
    now, *others = ways
    fewest = min(others, key=lambda each: (each.rebalances, each.idle_ms))
    trust = f"The simulation of the same events takes {counted(now.rebalances, 'rebalance')}, the sources tell of {len(told)}."
    if fewest.rebalances >= now.rebalances:
        return f"{trust} None of the ways simulated takes fewer."
    saved = now.idle_ms - fewest.idle_ms
    idle = f"{'and' if saved > 0 else 'but'} about {seconds(abs(saved))} {'less' if saved > 0 else 'more'} without a reader"
    least = f"Of the ways simulated, {fewest.name} would take the fewest, {fewest.rebalances}"
    return f"{trust} {least}." if stalls else f"{trust} {least}, {idle}, summed over partitions."
