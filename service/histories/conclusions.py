"""What a history comes to, in sentences and as rows of tables."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from service.core.printable import all_of, counted, first_few, printable
from service.histories.answer import HistoryAnswer
from service.histories.causes import OF_MEMBERS, WORDS, Why, client_reason
from service.histories.events import Cause, Kind, MemberNames, gaps
from service.histories.reading import MOST_EVENTS
from service.histories.times import seconds
from service.histories.told import Told

NAMED: Final = 5
BY: Final = {
    Why.JOIN: "a member that joined",
    Why.LEAVE: "one that left",
    Why.SESSION: "an expired session",
    Why.POLL: "a member that did not poll",
}
"""Cause → in words, after "2 by"; any other as its kind."""


def conclusion(answer: HistoryAnswer) -> str:
    """How many rebalances, in what time, by whom; for how long partitions had no reader; how many lines cannot be read."""
    unread = answer.reading.faults_count
    return " ".join((*_rebalances(answer), *([f"{counted(unread, 'line')} cannot be read."] if unread else [])))


def _rebalances(answer: HistoryAnswer) -> Iterator[str]:
    count = len(answer.told) + answer.missing
    span = answer.span_ms
    within = "" if span is None else f" in {seconds(span[1] - span[0])}"
    if not count:
        lines = sum(answer.reading.told)
        yield f"No rebalance of {printable(answer.question.group_id)} in {counted(lines, 'line')} about it{within}."
        return
    partial = bool(answer.reading.dropped or answer.reading.faults_count or answer.course.unnumbered)
    yield f"{'At least ' if partial else ''}{counted(count, 'rebalance')}{within}{_by(answer, count)}."
    unknown = answer.causes[Why.UNKNOWN] + sum(not each.rebalance.causes for each in answer.told) + answer.missing
    if unknown:
        yield f"Of {unknown:,} the cause is not told."
    yield from _standing(answer, partial=partial)


def _by(answer: HistoryAnswer, count: int) -> str:
    """By one member, if it is behind more than half of several rebalances; otherwise by cause."""
    whose = Counter(name for each in answer.told for name in {answer.names(member) for member in _behind(each)})
    (name, most), *_ = whose.most_common(1) or [("", 0)]
    if most > 1 and 2 * most > count and len(whose) > 1:
        return f", {most:,} of them by one member, {printable(name)}, which {_did(answer, name)}"
    counts = [
        (BY.get(kind, kind.replace("_", " ")), number) for kind, number in answer.causes.most_common() if kind != Why.UNKNOWN
    ]
    told = ", ".join(f"{number:,} by {what}" for what, number in counts)
    return f": {told}" if told else ""


def _behind(told: Told) -> tuple[str, ...]:
    """The members that caused a rebalance first of all, or the one whose second step it is."""
    causes = (told.leads or told.rebalance).causes
    return causes[0].members if causes and (causes[0].kind in OF_MEMBERS) else ()


def _did(answer: HistoryAnswer, name: str) -> str:
    """What a member did, each with how often; second steps are not counted again."""
    acts = Counter(
        cause.kind
        for each in answer.told
        for cause in each.rebalance.causes[:1]
        if cause.kind in OF_MEMBERS and name in map(answer.names, cause.members)
    )
    times = {1: "once", 2: "twice"}
    return " and ".join(f"{WORDS[kind]} {times.get(number, f'{number:,} times')}" for kind, number in acts.most_common())


def _standing(answer: HistoryAnswer, *, partial: bool) -> Iterator[str]:
    """For how long partitions had no reader, over the rebalances of which both bounds are known."""
    bounds = [each.standstill for each in answer.told]
    known = [(each.least_ms, each.most_ms) for each in bounds if each.least_ms is not None and each.most_ms is not None]
    missing = len(bounds) + answer.missing - len(known)
    if not known:
        yield "For how long partitions had no reader is not told."
        return
    least, most = (sum(column) for column in zip(*known, strict=True))
    if not most and not missing:
        yield f"No partition lost its reader{' in these' if partial else ''}."
        return
    both, which = (seconds(least), seconds(most)), "these" if partial else "all"
    time = both[0] if both[0] == both[1] else " to ".join(both) if least else f"up to {both[1]}"
    of = f" in {counted(len(known), 'rebalance')}; of {missing:,} it is not told." if missing else f" in {which}."
    yield f"Partitions had no reader for {time}{of}"


def sentence(cause: Cause, names: MemberNames) -> str:
    """A cause in words."""
    said = f" ({printable(cause.said)})" if cause.said and client_reason(cause.said) is None else ""
    if cause.members and cause.kind in OF_MEMBERS:
        return f"{first_few([printable(names(member)) for member in cause.members], NAMED)} {WORDS[cause.kind]}{said}"
    if cause.members and cause.kind == Why.UNKNOWN:
        return f"{printable(names(cause.members[0]))} rejoined; why is not told{said}"
    who = f": {first_few([printable(names(member)) for member in cause.members], NAMED)}" if cause.members else ""
    return f"{WORDS[cause.kind]}{who}{said}"


def warnings(answer: HistoryAnswer) -> Iterator[str]:
    """What of the history no source tells, and what of the sources tells nothing."""
    yield from _checked(answer)
    reading, told = answer.reading, answer.told
    if told and not (told[0].rebalance.before and told[0].rebalance.before.complete):
        yield f"The sources begin with {_number(told[0])}: what was before it, and who was in the group, is not told."
    for before, after in gaps([each.rebalance for each in told]):
        between = after.number - before.number - 1
        yield f"Between {before.number} and {after.number} {counted(between, 'rebalance')} left no line in the sources."
    lives = {each.rebalance.life for each in told}
    if len(lives) > 1:
        again = "it was deleted or expired, the sources are of several groups of this name, or their clocks differ"
        yield f"The group began to count again {counted(len(lives) - 1, 'time')}: {again}."
    if answer.course.unnumbered:
        yield "Snapshots of a classic group tell no generation: between two with other members there was a rebalance, or more."
    last = told[-1] if told else None
    ends = () if last is None else {event.kind for event in last.rebalance.events} & {Kind.ASSIGNED, Kind.SYNCED, Kind.RECORDED}
    if last is not None and last.rebalance.ended_ms is None and last.rebalance.protocol == "classic" and not ends:
        yield f"No source tells the end of {_number(last)}: the log is cut, or it was not over."
    loads = sum(event.kind == Kind.LOADED for _, event in answer.course.moves)
    if loads:
        first = next(event for _, event in answer.course.moves if event.kind == Kind.LOADED)
        place = f"{reading.names[first.source]}:{first.line}"
        yield f"A coordinator loaded the group {counted(loads, 'time')}, first at {place}: it had moved or started."
    yield from answer.aligned.notes
    silent = [name for i, name in enumerate(reading.names) if not reading.told[i] and i not in reading.describing]
    if silent:
        others = f" They tell of {all_of(sorted(reading.others), NAMED)}." if reading.others else ""
        yield f"Nothing in {all_of(silent, NAMED)} tells what happened to this group.{others}"
    if reading.faults:
        source, line, why = reading.faults[0]
        yield f"{counted(reading.faults_count, 'line')} cannot be read; the first is {reading.names[source]}:{line}: {why}."
    if reading.dropped:
        yield f"Only the first {MOST_EVENTS:,} events are used; {reading.dropped:,} more were read."


def _checked(answer: HistoryAnswer) -> Iterator[str]:
    """How many assignments are what the assignor gives; the first that is not, and the first of which it is not told."""
    checks = [(each.rebalance, each.check) for each in answer.told if each.check is not None]
    for protocol, whose in (("classic", "kafka-clients'"), ("consumer", "the coordinator's")):
        told = [check.alike for each, check in checks if each.protocol == protocol and check.alike is not None]
        if told:
            yield f"{sum(told)} of {len(told)} assignments are what {whose} assignor gives."
    for kind in (False, None):
        yield from [f"{each.number}: {check.sentence}" for each, check in checks if check.alike is kind][:1]


def _number(told: Told) -> str:
    return f"{'generation' if told.rebalance.protocol == 'classic' else 'epoch'} {told.rebalance.number}"


def row_of(answer: HistoryAnswer, told: Told) -> dict[str, Any]:
    """All but times, which tables write differently, and the place of the line that tells the cause. None: not told."""
    rebalance, moves, standstill = told.rebalance, told.moves, told.standstill
    first = next(iter(rebalance.causes), None)
    return {
        "number": rebalance.number,
        "life": rebalance.life,
        "protocol": rebalance.protocol,
        "cause": str(Why.UNKNOWN if first is None else first.kind),
        "members": [] if first is None else list(map(answer.names, first.members)),
        "sentence": None if first is None else sentence(first, answer.names),
        "members_before": None if rebalance.before is None else rebalance.before.count,
        "members_after": None if rebalance.after is None else rebalance.after.count,
        "assignor": rebalance.assignor,
        "moved": None if moves is None else moves.moved,
        "assigned": None if moves is None else moves.of,
        "standstill_least_ms": standstill.least_ms,
        "standstill_most_ms": standstill.most_ms,
    }
