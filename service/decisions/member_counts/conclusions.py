"""What the plans of a group come to, in sentences: how many members are enough, which numbers gain, and what is not known."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import ceil
from typing import Final

import numpy as np

from service.core.model import Bools, Float64s, Group
from service.core.printable import counted, first_few
from service.decisions.member_counts.question import (
    Lags,
    MemberCountsQuestion,
    Plans,
    figure,
    heaviest_load,
    keeps,
    meets,
    most_load,
)
from service.planner.member_counts import MembersLoad, MembersPlan

NAMED: Final = 12
"""Numbers that a sentence lists."""

FEW: Final = 3
"""Partitions or topics that a sentence names."""

NO_RATE: Final = "Lag is not a rate: partitions may have none because members read them."

EQUAL: Final = 1e-9
"""Relative difference up to which loads are equal."""


@dataclass(frozen=True)
class Fixed:
    """The topic that further members do not read, with the most load for each of its readers. load : of one of them at least"""

    topic_name: str
    total: float
    readers: int
    load: float


@dataclass(frozen=True)
class CountsCase:
    """The plans with what there is to read; where that is not known, with the least or with the most.

    group : with the most members of a plan
    weights : float64[partitions], what there is to read; 0 for topics that nobody reads
    now : the load as it is; None without members
    judged : under the group's own assignor, and under ``balanced`` where it is planned
    planned : see ``MemberCountsAnswer``
    probe : the plan with ``probed`` members
    is_most : is it the case with the most?
    """

    question: MemberCountsQuestion
    group: Group
    weights: Float64s
    now: MembersLoad | None
    judged: tuple[Plans, ...]
    planned: str
    probe: MembersPlan | None = None
    is_most: bool = False

    @property
    def own(self) -> Plans:
        """Under the group's own assignor."""
        return self.judged[0]

    @property
    def current(self) -> int:
        """The number of members now."""
        return len(self.question.group.members)

    @cached_property
    def counts(self) -> list[int]:
        """The numbers planned."""
        return [each.plan.members_count for each in self.own.plans]

    @cached_property
    def limits(self) -> list[str]:
        """The limits that are set."""
        return [name for name, most in vars(self.question.limits).items() if most is not None]

    @cached_property
    def alone(self) -> float:
        """What some member has at least, whatever the number: the heaviest partition, unless members share it."""
        return 0.0 if self.question.group.protocol == "share" else heaviest_load(self.group, self.weights)

    @cached_property
    def heaviest(self) -> str:
        """The name of the heaviest partition."""
        return named(self.group, np.argmax(self.weights, keepdims=True))

    @cached_property
    def fixed(self) -> Fixed | None:
        """See Fixed; None if further members read all topics that are read."""
        if not self.current:
            return None
        group, topics = self.group, self.group.topics
        subscriptions = group.subscriptions.below(len(topics))
        reads = np.zeros(len(topics), np.bool_)
        reads[subscriptions.row(self.current - 1)] = True
        first = subscriptions.first_rows(self.current)
        capacities = np.ones(len(group)) if group.capacities is None else group.capacities
        of_topic = np.bincount(first.values, capacities[first.row_of_each_value()], len(topics))
        readers = np.bincount(first.values, minlength=len(topics))
        totals = np.bincount(topics.topic_of, self.weights, len(topics))
        others = np.flatnonzero(~reads & (of_topic > 0))
        if not len(others):
            return None
        loads = totals[others] / of_topic[others]
        if topics.weights is None and group.capacities is None:
            loads = np.ceil(loads)
        topic = int(others[np.argmax(loads)])
        return Fixed(topics.names[topic], float(totals[topic]), int(readers[topic]), float(loads.max()))

    @cached_property
    def read_by_the_last(self) -> str:
        """The topics that further members read."""
        names = self.group.topic_names
        return first_few([names[topic] for topic in self.group.subscriptions.row(self.current - 1).tolist()], FEW)

    @cached_property
    def needed(self) -> tuple[int, str]:
        """The fewest members that could keep the limits, by the sum of all loads, and the limit that decides."""
        return max((self._needed(limit), limit) for limit in self.limits)

    def _needed(self, limit: str) -> int:
        share = float(self.weights.sum()) * (1 - EQUAL) / most_load(self.question, limit)
        if self.group.capacities is None:
            count = ceil(share)
        else:
            sums = np.cumsum(self.group.capacities)
            count = int(np.searchsorted(sums, share)) + 1
            if count > len(sums):
                count = len(sums) + ceil((share - sums[-1]) / self.group.capacities[-1])
        return max(-(-count // self.step) * self.step, self.step)

    @property
    def step(self) -> int:
        """By which numbers of members come into question: by pods, unless they are listed."""
        return 1 if self.planned == "listed" else self.question.threads_per_pod

    @property
    def probed(self) -> int | None:
        """The fewest members that could keep the limits, if that is not known yet."""
        if not self.limits or self.hopeless is not None or self.needed[0] in self.counts:
            return None
        recommended = self.own.recommended
        return self.needed[0] if recommended is None or self.needed[0] < recommended else None

    @cached_property
    def hopeless(self) -> str | None:
        """Why no number of members keeps the limits, if that is proven."""
        for limit in self.limits:
            if not keeps(self.question, limit, self.alone):
                alone = figure(self.question, limit, self.alone)
                reason = f"{self.heaviest} alone has {alone}, and only one member can read it"
                return f"No number of members is within the limits: {reason}."
        for limit in self.limits:
            if self.fixed is not None and not keeps(self.question, limit, self.fixed.load):
                return f"No number of members is within the limits as long as further ones read {self.further_read_nothing_of()}"
        return None

    def further_read_nothing_of(self) -> str:
        """Which topic keeps its readers, however many members come."""
        if self.fixed is None:
            raise TypeError("further members read all topics")
        load, readers = self.amount(self.fixed.total), counted(self.fixed.readers, "reader")
        return f"{self.read_by_the_last} (as the last one does): {self.fixed.topic_name} has {load} with {readers}."

    @property
    def probe_is_enough(self) -> bool:
        """Would the number that was probed keep the limits?"""
        return self.probe is not None and not self.probe.unread and all(meets(self.question, self.probe.load).values())

    @property
    def proof(self) -> str:
        """Why fewer members than ``needed`` cannot be enough."""
        question, (_, limit), total = self.question, self.needed, float(self.weights.sum())
        most = getattr(question.limits, limit)
        by = "" if self.group.capacities is None else ", by capacity"
        if limit == "max_lag_seconds":
            return f"{figure(question, limit, total)} ÷ {most:,.6g} s{by}"
        return f"{self.amount(total)} ÷ {most:,.12g}{by}"

    def amount(self, load: float) -> str:
        """What there is to read, in words."""
        if self.group.topics.weights is None:
            return counted(round(load), "partition")
        return f"a {'lag' if self.question.has_lag else 'load'} of {load:,.12g}"

    def members(self, count: int) -> str:
        """A number of members, in pods if these have several."""
        threads = self.question.threads_per_pod
        pods = counted(-(-count // threads), "pod")
        if threads == 1:
            return counted(count, "member")
        return f"{counted(count, 'member')} in {pods}" if count % threads else f"{pods} of {counted(threads, 'member')}"

    def one_of(self, count: int) -> bool:
        """Is the number of members, as it is written, a singular?"""
        threads = self.question.threads_per_pod
        return (count if threads == 1 or count % threads else count // threads) == 1


def read_partitions(group: Group) -> Bools:
    """bool[partitions], those of topics that some member subscribes to."""
    read = np.zeros(len(group.topics), np.bool_)
    read[group.subscriptions.below(len(group.topics)).values] = True
    return read[group.topics.topic_of]


def named(group: Group, partitions: np.ndarray) -> str:
    """``orders-2, orders-3 and 4 more``."""
    topics, ids = group.topic_partitions(partitions[:FEW].astype(np.int32))
    names = [f"{group.topic_names[topic]}-{i}" for topic, i in zip(topics.tolist(), ids.tolist(), strict=True)]
    more = f" and {len(partitions) - FEW:,} more" if len(partitions) > FEW else ""
    return f"{', '.join(names)}{more}"


def concluded(lags: Lags, cases: Sequence[CountsCase]) -> tuple[str, list[str]]:
    """The conclusion, and what else to know. cases : with the least that there can be to read, and if it differs with the most"""
    least, most = cases[0], cases[-1]
    read, warnings = read_partitions(least.group), []
    uncommitted, endless, negative = (np.flatnonzero(each & read) for each in (lags.uncommitted, lags.endless, lags.negative))
    of_all, policy = f"of {counted(int(read.sum()), 'partition')}", least.question.offset_reset_policy
    if not read.any():
        return "There is nothing to read: no member subscribes to a topic with partitions.", []
    text = _concluded(least)
    whole = float((most.weights - least.weights)[uncommitted].sum())
    if len(uncommitted):
        known = "" if policy is None else f" They count as with auto.offset.reset={policy}."
        without = f"{len(uncommitted):,} {of_all} {_have(uncommitted)} no committed offset ({named(least.group, uncommitted)})."
        otherwise = _concluded(most)
        if policy is None and otherwise != text:
            otherwise = otherwise.removesuffix(NO_RATE if text.endswith(NO_RATE) else "").rstrip()
            earliest = f"With auto.offset.reset=earliest that is {whole:,.12g} records of lag: {otherwise}"
            text = f"{without} {earliest} With latest: {text}"
        else:
            warnings.append(without + known)
        if policy is None and least.question.group.protocol != "share":
            warnings.append("KEDA's figures are those of offsetResetPolicy latest, its default.")
    if len(endless):
        no_end = f"{len(endless):,} {of_all} {_have(endless)} no known log end ({named(least.group, endless)})"
        text = f"{no_end}, so what is to be read there is not known. Without that: {text}"
    if len(negative):
        beyond = f"a committed offset beyond the end of the log ({named(least.group, negative)})"
        subtracted = "there is nothing to read, but KEDA subtracts it from the sum of all lags"
        warnings.append(f"{len(negative):,} {of_all} {_have(negative)} {beyond}: {subtracted}.")
    if least.fixed is not None and least.counts[-1] > least.current:
        warnings.append(f"Further members are assumed to read {least.read_by_the_last}, as the last one does.")
    return text, warnings


def _have(partitions: np.ndarray) -> str:
    return "has" if len(partitions) == 1 else "have"


def _concluded(case: CountsCase) -> str:
    if not case.limits:
        return " ".join(_against_lag(case) if case.question.has_lag else _worth(case))
    even = case.judged[-1].recommended if len(case.judged) > 1 else None
    recommended = case.own.recommended
    better = even is not None and (recommended is None or even < recommended)
    text = case.hopeless or (_none_within(case) if recommended is None else _fewest(case, recommended))
    return f"{text} With balanced, {case.members(even)} would do." if better and even is not None else text


def _fewest(case: CountsCase, recommended: int) -> str:
    """That a number is the fewest within the limits: of all, if that is proven, or of those planned."""
    needed, are = case.needed[0], "is" if case.one_of(recommended) else "are"
    skipped = sorted({*range(needed, recommended, case.step)} - {*case.counts})
    pods = " pods" if case.step > 1 else ""
    state = _state(case, recommended)
    if not skipped:
        return f"{case.members(recommended)} {are} the fewest{pods} within the limits{state}."
    planned = f"Of the numbers planned ({numbers(case.counts)})"
    text = f"{planned}, {case.members(recommended)} {are} the fewest{pods} within the limits{state}"
    were = "was" if len(skipped) == 1 else "were"
    if case.probe_is_enough:
        return f"{text}; {case.members(needed)} would do ({case.proof}), which was not planned."
    return f"{text}; fewer than {needed:,} cannot be ({case.proof}), and {numbers(skipped)} {were} not planned."


def _state(case: CountsCase, recommended: int) -> str:
    """Whether the group is within the limits as it is."""
    now = case.current
    if case.now is None:
        return ""
    within = all(meets(case.question, case.now).values())
    if now == recommended:
        return "" if within else f"; now there are {now:,}, but not with the partitions that they own"
    if not within:
        return f"; now there are {now:,}, not within them"
    if now > recommended or (now not in case.counts and now % case.step == 0):
        return f"; now there are {now:,}, also within them"
    if now % case.step:
        return f"; now there are {counted(now, 'member')}, within them too, but no whole number of pods"
    return f"; now there are {now:,}, within them only with the partitions that they own"


def _none_within(case: CountsCase) -> str:
    """That no number planned is within the limits, and which would be."""
    counts, (needed, _) = case.counts, case.needed
    if len(counts) == 1:
        text = f"{case.members(counts[0])} {'is' if case.one_of(counts[0]) else 'are'} not within the limits"
    elif len(counts) == 2:
        text = f"Neither {counts[0]:,} nor {counts[1]:,} members are within the limits"
    else:
        text = f"Of the numbers of members planned ({numbers(counts)}), none is within the limits"
    if case.probe_is_enough:
        return f"{text}; {case.members(needed)} would be ({case.proof})."
    if needed > counts[-1]:
        return f"{text}; fewer than {needed:,} cannot be ({case.proof})."
    readable = [each for each in case.own.plans if not each.plan.unread]
    if len(readable) < len(counts):
        text += " with all partitions read"
    if not readable:
        return f"{text}."
    best = min(readable, key=lambda each: each.plan.load.worst).plan
    figures = " and ".join(figure(case.question, limit, best.load.worst) for limit in case.limits)
    return f"{text}; the least that was found is {figures}, with {case.members(best.members_count)}."


def _enough(case: CountsCase) -> tuple[int, bool] | None:
    """The fewest members planned with the least load, and whether it is proven that no more of them can lower it."""
    plans = [each.plan for each in case.own.plans if not each.plan.unread]
    if not plans:
        return None
    least = min(plan.load.worst for plan in plans)
    enough = next(plan.members_count for plan in plans if plan.load.worst <= least * (1 + EQUAL))
    floor = max(case.alone, 0.0 if case.fixed is None else case.fixed.load)
    return enough, least <= floor * (1 + EQUAL)


def _unread(case: CountsCase) -> str:
    count = numbers(case.counts)
    return f"With {count} {'member' if count == '1' else 'members'}, topics that only later members read have no reader."


def _against_lag(case: CountsCase) -> Iterator[str]:
    """What members can do against the lag of now."""
    total, found = float(case.weights.sum()), _enough(case)
    if total == 0:
        yield "There is no lag, which does not tell how many members the group needs."
        return
    if found is None:
        yield _unread(case)
        return
    enough, proven = found
    lagging, partitions = np.flatnonzero(case.weights > 0), int(read_partitions(case.group).sum())
    names = named(case.group, lagging) if len(lagging) <= FEW else ""
    where = f"is on {len(lagging):,} of {counted(partitions, 'partition')}{', ' + names if names else ''}"
    by_one = proven and case.alone >= (0.0 if case.fixed is None else case.fixed.load)
    if len(lagging) == 1 and by_one and len(case.own.worth_using) == 1:
        yield (
            f"All of the lag ({total:,.12g}) {where}, which only one member can read: more members cannot shorten it; a faster "
            "member can, or for new records more partitions and other keys."
        )
    else:
        begin = f"All of the lag ({total:,.12g}) {where}" if len(lagging) < partitions else f"The lag is {total:,.12g}"
        if not proven:
            yield f"{begin}. Of the numbers planned ({numbers(case.counts)}), none above {enough:,} shortens it."
        elif by_one:
            reason = f"{case.heaviest} alone has {float(case.weights.max()):,.12g}, and only one member can read it"
            yield f"{begin}: more than {case.members(enough)} cannot shorten it, since {reason}."
        else:
            yield f"{begin}. More members cannot shorten it if they read {case.further_read_nothing_of()}"
        yield _listed(case, "against it")
    yield NO_RATE


def _listed(case: CountsCase, what: str = "") -> str:
    """The numbers that gain."""
    worth = case.own.worth_using
    listed = ", ".join(f"{count:,}" for count in worth[:NAMED]) + (" …" if len(worth) > NAMED else "")
    of_them = {"all": "", "useful": f", of the {len(case.counts):,} numbers planned", "listed": ", of the numbers planned"}
    return f"Worth using{' ' * bool(what)}{what}{of_them[case.planned]}: {listed}."


def _worth(case: CountsCase) -> Iterator[str]:
    """Which numbers of members lower the largest load."""
    found, now = _enough(case), case.current
    if found is None:
        yield _unread(case)
        return
    enough, proven = found
    by_one = proven and case.alone >= (0.0 if case.fixed is None else case.fixed.load)
    if proven and not by_one:
        yield f"More members gain nothing if they read {case.further_read_nothing_of()}"
    yield _listed(case)
    if by_one:
        reason = f": {case.heaviest} alone has {case.amount(float(case.weights.max()))}, and only one member can read it"
        yield f"More than {case.members(enough)} gain nothing{'' if case.group.topics.weights is None else reason}."
    elif not proven:
        last = f"{case.counts[-1]:,} is the largest number planned; more may gain."
        if case.question.group.protocol == "share":
            last = "More may gain as well: several members of a share group read a partition."
        yield (
            last
            if enough == case.counts[-1]
            else f"Of the numbers planned ({numbers(case.counts)}), none above {enough:,} gains."
        )
    below = [count for count in case.own.worth_using if count < now]
    is_read = now in case.counts and not case.own.plans[case.counts.index(now)].plan.unread
    if below and is_read and now not in case.own.worth_using:
        yield f"The current {now:,} members are no better than {below[-1]:,}."


def numbers(counts: Sequence[int]) -> str:
    """``1 to 24``, ``5, 10 … 50`` or ``2, 3 and 8``, as short as the numbers allow."""
    steps = {after - before for before, after in pairwise(counts)}
    if len(counts) > FEW and len(steps) == 1:
        between = " to" if steps == {1} else f", {counts[1]:,} …"
        return f"{counts[0]:,}{between} {counts[-1]:,}"
    if len(counts) > NAMED:
        return f"{len(counts):,} numbers from {counts[0]:,} to {counts[-1]:,}"
    *before, last = (f"{count:,}" for count in counts)
    return f"{', '.join(before)} and {last}" if before else last
