"""What a timeline comes to, in sentences: what the events cost, what depends on chance, and how the group ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from service.core.measures import read_nearby
from service.core.printable import all_of, counted, first_few, printable
from service.decisions.rebalances.question import EAGER, rebalance_protocol_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from service.decisions.rebalances.answer import DrawRanges, RebalancesAnswer, Way
    from service.planner.timelines.model import Idle, Timeline, TimelineRebalance, Unread

MOST_NAMED: Final = 5
"""Topics, members or ways that a sentence names at most."""

WIDE: Final = 0.5
"""The share of its mean by which a time must differ between draws to be worth a sentence."""

WANTED: Final = ("scales", "rolling_restart", "assignor_changes", "member_joins", "partitions_added")
"""Events that somebody carries out, and which so take rebalances; others cause them."""

QUIET: Final = ("Stable", "Empty", "Dead")
"""States of a group in which nothing is under way."""

REASONS: Final = {
    "no_member": "no member is left",
    "no_subscriber": "no member subscribes to {topic}",
    "not_assigned": "assigned to no member",
}


def conclusion(answer: RebalancesAnswer) -> str:
    """The first sentences: what was asked, and how the group ends. What leaves all partitions without a reader comes first."""
    ends = _end(answer)
    asked = _compared(answer) if answer.variants else _asked(answer)
    return " ".join([*([*ends, *asked] if _reads_nothing(answer.first) else [*asked, *ends]), *_assumed(answer)])


def _pace(timeline: Timeline) -> str:
    """How often members poll, in words."""
    every = timeline.timing.poll_interval_ms
    return f"every {seconds(every)}" if every else "at once"


def warnings(answer: RebalancesAnswer) -> list[str]:
    """What a reader must know of the figures: what they depend on and assume, and whose clients are simulated."""
    ways, found = [answer.first, *answer.others], []
    if answer.variants and any(way.outcome.totals.idle.least_sum_ms < way.outcome.totals.idle.most_sum_ms for way in ways):
        bounds = "; ".join(f"{_name(way)} {_range(way.outcome.totals.idle)}" for way in ways)
        found.append(f"Depending on when members heartbeat and poll, partitions are without a reader for, in all: {bounds}.")
    slow = [(way, *way.slow) for way in ways if way.slow is not None]
    if any(outcome.totals.idle.sum_ms for _, _, outcome in slow):
        order = sorted(slow, key=lambda each: each[2].totals.idle.sum_ms)
        rows = [(_name(way), seconds(each.totals.idle.sum_ms), _pace(timeline)) for way, timeline, each in order]
        if len({pace for _, _, pace in rows}) == 1:
            named = "; ".join(f"{name} {idle}" for name, idle, _ in rows)
            found.append(f"If members polled every {seconds(slow[0][1].timing.poll_interval_ms)}, in all: {named}.")
        else:
            named = "; ".join(f"{name} {idle} ({pace})" for name, idle, pace in rows)
            found.append(f"If members polled as seldom as their rebalance time-out allows, in all: {named}.")
    if answer.variants and any(way.draws for way in ways):
        found.append("Starting members draw their ids at random; the figures are those of one draw.")
    crossing = [each.zone_traffic for each in answer.first.outcome.rebalances if each.zone_traffic is not None][-1:]
    traffic = [text for each in crossing for text in read_nearby(each.figures(answer.question.price_per_gb))]
    after = [f"After the last rebalance: {text[0].lower()}{text[1:]}" for text in traffic]
    clients = " and ".join(sorted({name.partition(":")[0] for _, name in _assignors(answer) if ":" in name}))
    by_clients = f"Members heartbeat and poll as Java's clients do; only the assignments are those of {clients}."
    return [*found, *([by_clients] if clients else []), *_tie_warnings(answer), *after]


def _assignors(answer: RebalancesAnswer) -> Iterator[tuple[str, str]]:
    """The protocol and the name of each assignor of the simulations, with those that events change to."""
    for timeline in (way.timeline for way in (answer.first, *answer.others)):
        yield timeline.group_protocol, timeline.assignor.name
        for event in timeline.events:
            yield from ((event.group_protocol, assignor.name) for assignor in event.assignors)


def _tie_warnings(answer: RebalancesAnswer) -> list[str]:
    world = answer.first.timeline.world
    ids = [topic_id for topic_id, count in zip(world.ids, np.diff(world.first).tolist(), strict=True) if count]
    names = {name for protocol, name in _assignors(answer) if protocol != "classic"}
    by_id = sorted(names & {"uniform", "simple"} if len(ids) > 1 else names & {"simple"})
    if not by_id or None not in ids:
        return []
    guess = f"Which member gets which partition of several equally good ones is a guess: {' and '.join(by_id)}"
    decide = "decide" if len(by_id) > 1 else "decides"
    known = len(ids) - ids.count(None)
    return [f"{guess} {decide} that by the ids of topics, and the request has the topic_id of {known} of {len(ids)} topics."]


def seconds(milliseconds: float) -> str:
    """``1,234 s``, ``0.5 s``."""
    value = milliseconds / 1000
    return f"{value:,.0f} s" if value >= 1000 or value.is_integer() else f"{value:.3g} s"


def _reads_nothing(way: Way) -> bool:
    """Has no partition a reader at the end, though there are some?"""
    end = way.outcome.end
    return end.unread_count == end.partitions_count > 0


# ---- what was asked ---------------------------------------------------------------------------------------------------------


def _asked(answer: RebalancesAnswer) -> Iterator[str]:
    """The rebalances of the events, how long partitions have no reader, what moves; and the forming of the group."""
    way, outcome = answer.first, answer.first.outcome
    events, rebalances = answer.question.events, outcome.totals.rebalances
    subject = "Starting the group" if not events else _event(events[0]) if len(events) == 1 else f"The {len(events):,} events"
    count = counted(rebalances, "rebalance") if rebalances else "no rebalance"
    verb = "cause" if len(events) > 1 else "takes" if not events or events[0]["type"] in WANTED else "causes"
    yield f"{f'{subject} {verb} {count}' if events or rebalances else 'Nothing happens to the group'}{_idle(way)}."
    if outcome.totals.moved or (way.draws is not None and way.draws.totals["moved"].most):
        yield f"Moves of partitions from members that stay: {_moves(outcome.totals.moved, way.draws)}."
    if way.draws is not None:
        if way.draws.failed:
            yield f"In {way.draws.failed} of {way.draws.count} draws of these ids the assignor fails."
        number, idle = way.draws.totals["rebalances"], way.draws.totals["idle_partition_ms"]
        if number.least < number.most:
            yield f"With other ids there are {number.least} to {number.most} rebalances."
        if idle.most - idle.least > WIDE * idle.mean:
            spread = f"{seconds(idle.least)} to {seconds(idle.most)}, {seconds(idle.mean)} on average"
            yield f"The time without a reader depends on these ids, too: {spread}."
    if outcome.start is not None and outcome.start.rebalances:
        yield f"(Starting the group: {seconds(outcome.start.idle.sum_ms)}.)"


def _idle(way: Way) -> str:
    """How long partitions have no reader until they get one again; with its bounds, since that hangs on heartbeats and polls."""
    idle = way.outcome.totals.idle
    if not idle.most_sum_ms:
        return _never(way)
    depends = "" if idle.least_sum_ms == idle.most_sum_ms else f" ({_range(idle)}, depending on when members heartbeat and poll)"
    longest, most = seconds(idle.longest_ms), seconds(idle.most_longest_ms)
    which = "partitions that get a reader again" if way.outcome.end.unread else "partitions"
    return (
        f"; {which} are without a reader for {seconds(idle.sum_ms)} in all{depends}, summed over partitions{_polls(way)}; "
        f"the longest of a partition {longest}{f', at most {most}' * (longest != most)}"
    )


def _polls(way: Way) -> str:
    poll_ms = way.timeline.timing.poll_interval_ms
    return f", if members poll every {seconds(poll_ms)}" if poll_ms else ", if polls take no time"


def _never(way: Way) -> str:
    """That no partition waits for a reader, if that is so, or only with polls that take no time; or nothing."""
    rebalances, end = [each for each in way.outcome.rebalances if not each.is_start], way.outcome.end
    polls_take_time = way.timeline.timing.poll_interval_ms > 0
    if way.outcome.rebalances and not way.timeline.events:  # before it starts, no partition has one
        return ""
    if any(each.is_eager and _had(each) for each in rebalances):
        stops = "; members stop reading in each, for a time that their polls decide, and which is 0 s here"
        return "" if polls_take_time else stops
    if any(each.withheld or (each.movement is not None and each.movement.revoked) for each in rebalances):
        return "" if polls_take_time else "; partitions that move wait for polls, which take no time here"
    if end.unread or not end.partitions_count:
        return ""
    if any(event.type == "member_stalls" for event in way.timeline.events):
        return "; every partition keeps its reader, which does not poll while it stalls"
    return "; every partition has a reader all the time"


def _had(rebalance: TimelineRebalance) -> bool:
    """Had its members any partition before?"""
    return rebalance.movement is not None and rebalance.movement.retained + rebalance.movement.revoked > 0


def _moves(shown: int, draws: DrawRanges | None) -> str:
    """How many, and over all draws."""
    if draws is None:
        return f"{shown:,}"
    if draws.count == 1:
        return f"{shown:,} with the ids that starting members draw here, which are one possible outcome"
    moved, of = draws.totals["moved"], f"{draws.count - draws.failed} draws of the ids of starting members"
    if moved.least == moved.most:
        return f"{shown:,} in each of {of}"
    return f"{moved.mean:,.0f} on average, {moved.least:,} to {moved.most:,} in {of}; {shown:,} in the one that is shown"


def _event(event: Mapping[str, Any]) -> str:
    """An event as the subject of a sentence."""
    topic = event.get("topic_name") or event.get("topic", {}).get("topic_name")
    joining = event.get("member", {})
    names = (event.get("member_id"), joining.get("member_id"), joining.get("member_name"))
    member = next((repr(name) for name in names if name), "a member")
    subjects = {
        "member_joins": f"Adding {member}",
        "member_leaves": f"Closing {member}",
        "member_crashes": f"The crash of {member}",
        "member_stalls": f"The stall of {member}",
        "member_restarts": f"The restart of {member}",
        "rolling_restart": "The rolling restart",
        "subscription_changes": f"The new subscription of {member}",
        "topic_created": f"Creating {topic}",
        "topic_deleted": f"Deleting {topic}",
        "partitions_added": f"Adding partitions to {topic}",
        "scales": f"Scaling to {event.get('members_count')}",
        "assignor_changes": f"The change to {event.get('group_protocol') or ''.join(event.get('assignors', ()))}",
    }
    return printable(subjects[event["type"]])


# ---- ways that are compared -------------------------------------------------------------------------------------------------


def _compared(answer: RebalancesAnswer) -> Iterator[str]:
    """Which way leaves partitions without a reader for the shortest time, and for the longest."""
    ways = [answer.first, *answer.others]
    idle = [way.outcome.totals.idle.sum_ms for way in ways]
    if all(map(_reads_nothing, ways)) and not max(idle):
        yield "No way is better."
    elif seconds(min(idle)) == seconds(max(idle)):
        about = "equally" if min(idle) == max(idle) else "about equally"
        equal = f"{seconds(min(idle))} in all, summed over partitions{_polls(ways[0])}"
        yield f"All ways leave partitions without a reader {about} long, {equal}."
    else:
        least, most = ([way for way, each in zip(ways, idle, strict=True) if each == end] for end in (min(idle), max(idle)))
        overlap = max(_bounds(way)[1] for way in least) >= min(_bounds(way)[0] for way in most)
        shortest, longest = (all_of(list(map(_name, each)), MOST_NAMED) for each in (least, most))
        shortest += f", {seconds(min(idle))} in all{' each' * (len(least) > 1)}, summed over partitions{_polls(least[0])}"
        longest += f", {seconds(max(idle))}{' each' * (len(most) > 1)}{', but their bounds overlap' * overlap}"
        yield f"Partitions are without a reader for the shortest time with {shortest}; for the longest with {longest}."
    counts = [way.outcome.end.unread_count for way in ways]
    if min(counts) < max(counts):
        named = [f"{_name(way)} {count:,}" for way, count in zip(ways, counts, strict=True)]
        yield f"Partitions without a reader at the end: {first_few(named, MOST_NAMED)}."


def _bounds(way: Way) -> tuple[float, float]:
    """The least and the most time without a reader, whenever members poll and whatever ids they draw."""
    idle = way.outcome.totals.idle
    if way.draws is None:
        return idle.least_sum_ms, idle.most_sum_ms
    drawn = way.draws.totals["idle_partition_ms"]
    return min(idle.least_sum_ms, drawn.least), max(idle.most_sum_ms, drawn.most)


def _range(idle: Idle) -> str:
    least, most = idle.least_sum_ms, idle.most_sum_ms
    return seconds(least) if least == most else f"{seconds(least)} to {seconds(most)}"


def _name(way: Way) -> str:
    """How a group is run: ``classic range static``; of an assignor that knows both, whether it is eager."""
    timeline = way.timeline
    protocol = rebalance_protocol_of(timeline.group_protocol, timeline.assignor)
    eager = ["eager"] if timeline.assignor.name == "balanced" and protocol == EAGER else []
    static = [] if way.static is None else ["static" if way.static else "dynamic"]
    return " ".join([timeline.group_protocol, timeline.assignor.name, *eager, *static])


# ---- the end ----------------------------------------------------------------------------------------------------------------


def _end(answer: RebalancesAnswer) -> list[str]:
    """Which partitions have no reader from when on, and why; and whether the group is still moving."""
    outcome, names = answer.first.outcome, answer.first.timeline.world.names
    end = outcome.end
    sentences = []
    if end.unread and end.empty_since_ms is not None:
        count, since = end.unread_count, end.empty_since_ms
        have = f"all {counted(count, 'partition')} have" if count > 1 else "the only partition has"
        left = "no member is left" if answer.first.outcome.had_members else "the group has no members"
        sentences.append(f"From {seconds(since)} on {have} no reader: {left}.")
    else:
        sentences += [_of_topic(each, printable(names[each.topic])) for each in end.unread[:MOST_NAMED]]
        if len(end.unread) > MOST_NAMED:
            partitions = counted(sum(each.partitions_count for each in end.unread[MOST_NAMED:]), "partition")
            topics = counted(len(end.unread) - MOST_NAMED, "more topic")
            sentences.append(f"So have {partitions} of {topics}.")
    if end.state not in QUIET:
        sentences.append(f"At the end the group is still {end.state}.")
    return sentences


def _of_topic(unread: Unread, topic: str) -> str:
    """Why nobody reads partitions of a topic."""
    of = f"all {counted(unread.of, 'partition')}" if unread.partitions_count == unread.of > 1 else ""
    one = "the only partition" if unread.of == 1 else f"{unread.partitions_count:,} of {unread.of:,} partitions"
    have = "has" if unread.partitions_count == 1 else "have"
    reason = REASONS[unread.reason].format(topic=topic)
    return f"From {seconds(unread.since_ms)} on {of or one} of {topic} {have} no reader: {reason}."


def _assumed(answer: RebalancesAnswer) -> Iterator[str]:
    """To what new members are taken to subscribe, where others subscribe to something else."""
    alike, question = answer.first.outcome.alike, answer.question
    if alike is not None:
        names = [printable(answer.first.timeline.world.names[topic]) for topic in alike]
        topics = first_few(names, MOST_NAMED) or "nothing"
        yield f"New members are taken to subscribe like the last one, to {topics}; others subscribe to other topics."
    everything = {None, frozenset(question.topics.field("topic_name").to_pylist())}
    given = {None if names is None else frozenset(names) for names in question.members.field("topic_names").to_pylist()}
    joins = [event["member"] for event in question.events if "member" in event]
    if given - everything and any(member.get("topic_names") is None for member in joins):
        yield "Members that join are taken to subscribe to every topic, as no others are named."
