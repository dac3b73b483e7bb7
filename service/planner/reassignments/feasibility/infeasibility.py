"""What cannot be: which rules clash, and what would mend it.

A rule is left out by changing the question, so the same search that plans decides whether the others can be kept. Rules are left
out one after another as long as the rest still clashes; then every smaller set is tried. What is left is the smallest clash.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import combinations
from typing import Any, Final

import numpy as np

from service.core.budget import check_time
from service.core.errors import Clash, Infeasible, NoPlan, NotFound
from service.core.model import NONE, Bools, Cluster, Int64s
from service.core.printable import counted
from service.planner.reassignments.feasibility.feasible import verdict
from service.planner.reassignments.feasibility.packing import IMPOSSIBLE, PACKED, Effort
from service.planner.reassignments.model import NAMED, NO_LIMIT, Brokers, Goal, Placements, broker_names
from service.planner.reassignments.sets import Permits

MORE: Final = 64
"""Most further brokers that are tried."""


@dataclass(frozen=True)
class RulesQuestion:
    """A placement that is asked for, and what rules it has."""

    brokers: Brokers
    placements: Placements
    goal: Goal
    effort: Effort

    def feasible(self) -> bool:
        """Is there a placement? False also if none was found."""
        return self.verdict() == PACKED

    def verdict(self) -> int:
        """PACKED if there is a placement, IMPOSSIBLE if there is none, UNKNOWN if none was found."""
        check_time()
        return verdict(self.brokers, self.placements, self.goal, self.effort)

    def only(self, kept: tuple[str, ...], rules: tuple[str, ...]) -> "RulesQuestion":
        """The question with those of the rules that are kept."""
        relaxation = self
        for rule in rules:
            if rule not in kept:
                relaxation = relaxation.without(rule)
        return relaxation

    def with_factor(self, most: int) -> "RulesQuestion":
        """The question with at most so many replicas of a partition."""
        factors = np.minimum(self.placements.replication_factors, most).astype(np.int32)
        return replace(self, placements=replace(self.placements, replication_factors=factors))

    def with_more(self, count: int, *, on_new_rack: bool) -> "RulesQuestion":
        """The question with ``count`` brokers more."""
        sets = self.placements.broker_sets
        if sets is not None:  # each may have the new ones
            sets = replace(sets, allowed=np.pad(sets.allowed, ((0, 0), (0, count)), constant_values=True))
        placements = replace(self.placements, broker_sets=sets)
        return replace(self, brokers=_with_more(self.brokers, count, on_new_rack=on_new_rack), placements=placements)

    def with_limits(self, name: str, change: Callable[[Int64s], Int64s]) -> "RulesQuestion":
        """The question with other ``max_replicas`` or ``capacity_bytes`` of brokers that have one."""
        limits: Int64s = getattr(self.brokers, name)
        changed: dict[str, Any] = {name: np.where(limits == NO_LIMIT, NO_LIMIT, change(limits))}
        return replace(self, brokers=replace(self.brokers, **changed))

    def more_room(self) -> int | None:
        """By how many percent ``capacity_bytes`` would have to be more; None if that does not mend it."""
        return least(5_000, lambda n: self.with_limits("capacity_bytes", lambda limits: limits + limits * n // 100).feasible())

    def without(self, rule: str) -> "RulesQuestion":
        """The question without this rule."""
        brokers, cluster = self.brokers, self.brokers.cluster
        none, unlimited = np.zeros(len(brokers), np.bool_), np.full(len(brokers), NO_LIMIT, np.int64)
        if rule == "racks":
            return replace(self, goal=replace(self.goal, racks="none"))
        if rule == "leaders":
            return replace(self, goal=replace(self.goal, leaders="balance"))
        if rule == "broker_sets":
            return replace(self, placements=replace(self.placements, broker_sets=None))
        if rule == "min_topic_leaders":
            return replace(self, placements=replace(self.placements, topic_leaders=None))
        if rule == "excluded_topics":
            return replace(self, placements=replace(self.placements, excluded=np.zeros(len(self.placements), np.bool_)))
        changes: dict[str, dict[str, Any]] = {
            "fenced": {"cluster": replace(cluster, fenced=none)},
            "draining": {"draining": none},
            "cordoned": {"cordoned": none},
            "destinations": {"destinations": ~none},
            "max_replicas": {"max_replicas": unlimited},
            "capacity_bytes": {"capacity_bytes": unlimited},
            "replaces": {"replaced_by": np.full(len(brokers), NONE, np.int32)},
        }
        return replace(self, brokers=replace(brokers, **changes[rule]))


def explain(brokers: Brokers, placements: Placements, goal: Goal) -> NoPlan:
    """The reason why there is no plan, or none was found."""
    question = RulesQuestion(brokers, placements, goal, Effort())
    every = _rules(question)
    proven = question.verdict() == IMPOSSIBLE
    rules = _smallest_clash(question, every)
    proven &= question.only(rules, every).verdict() == IMPOSSIBLE
    factors = placements.replication_factors[~placements.excluded]
    factor, total = int(factors.max(initial=0)), int(factors.sum(dtype=np.int64))
    usable = int(brokers.usable.sum())
    needs = f"Replication factor {factor} makes {counted(total, 'replica')} for {counted(usable, 'usable broker')}."
    clash: tuple[Clash, ...] = (Clash("replication_factor", needs),) if total else ()
    clash += tuple(Clash(rule, _demand(question, rule)) for rule in rules)
    remedies = tuple(_remedies(question, rules, factor))
    kept, doubt = ("No placement keeps", "") if proven else ("No placement was found that keeps", ", though there may be one")
    detail = f"{kept} these rules together{doubt}: {'; '.join(each.detail.rstrip('.') for each in clash)}."
    return (Infeasible if proven else NotFound)(detail, clash, remedies)


def _rules(question: RulesQuestion) -> tuple[str, ...]:
    """The rules that the question has."""
    brokers, placements = question.brokers, question.placements
    given = {
        "capacity_bytes": (brokers.capacity_bytes != NO_LIMIT).any(),
        "max_replicas": (brokers.max_replicas != NO_LIMIT).any(),
        "excluded_topics": placements.excluded.any(),
        "replaces": (brokers.replaced_by != NONE).any(),
        "fenced": brokers.cluster.fenced.any(),
        "draining": brokers.draining.any(),
        "cordoned": brokers.cordoned.any(),
        "destinations": not brokers.destinations.all(),
        "broker_sets": placements.broker_sets is not None,
        "min_topic_leaders": placements.topic_leaders is not None,
        "leaders": question.goal.only_leaders,
        "racks": question.goal.racks != "none" and not question.goal.only_leaders,
    }
    return tuple(rule for rule, is_given in given.items() if is_given)


def _smallest_clash(question: RulesQuestion, rules: tuple[str, ...]) -> tuple[str, ...]:
    def clash(kept: tuple[str, ...]) -> bool:
        return not question.only(kept, rules).feasible()

    least = rules
    for rule in rules:
        fewer = tuple(other for other in least if other != rule)
        if clash(fewer):
            least = fewer
    for size in range(len(least)):
        for kept in combinations(rules, size):
            if clash(kept):
                return kept
    return least


def _demand(question: RulesQuestion, rule: str) -> str:
    """What the rule demands, in a sentence."""
    brokers = question.brokers
    cluster, usable = brokers.cluster, brokers.usable
    if rule == "broker_sets":
        permits = Permits.of(brokers, question.placements)
        smallest = int(permits.keeps.sum(axis=1)[np.unique(permits.sets)].min(initial=len(brokers)))
        return f"The smallest broker set of a topic has {counted(smallest, 'usable broker')}."
    if rule == "destinations":
        ids = cluster.broker_ids[brokers.destinations & usable].tolist()
        return f"New replicas may only go to {broker_names(ids)}." if ids else "No destination is usable."
    if rule == "racks":
        racks = np.unique(brokers.racks()[usable])
        names = ["no rack" if rack == len(cluster.rack_ids) else f"rack {cluster.rack_ids[rack]}" for rack in racks[:NAMED]]
        counts = [int(np.count_nonzero(usable & (brokers.racks() == rack))) for rack in racks[:NAMED]]
        listed = ", ".join(f"{name} has {counted(count, 'usable broker')}" for name, count in zip(names, counts, strict=True))
        return f'racks = "{question.goal.racks}": {listed}.'
    if rule == "excluded_topics":
        return "The excluded topics keep their replicas where they are."
    return {
        "fenced": lambda: f"{_named(brokers, cluster.fenced)} fenced.",
        "draining": lambda: f"{_named(brokers, brokers.draining)} draining.",
        "cordoned": lambda: f"{_named(brokers, brokers.cordoned)} cordoned.",
        "min_topic_leaders": lambda: _of_topic_leaders(question.placements),
        "leaders": lambda: f'leaders = "{question.goal.leaders}": no replica moves.',
        "max_replicas": lambda: _total("max_replicas{} add up to {}.", brokers.max_replicas, usable),
        "capacity_bytes": lambda: _total("The disks{} have room for {} bytes.", brokers.capacity_bytes, usable),
        "replaces": lambda: f"{_named(brokers, brokers.replaced_by != NONE)} replaced one for one.",
    }[rule]()


def _named(brokers: Brokers, which: Bools) -> str:
    ids = brokers.cluster.broker_ids[which].tolist()
    return f"{broker_names(ids).capitalize()} {'is' if len(ids) == 1 else 'are'}"


def _of_topic_leaders(placements: Placements) -> str:
    least = placements.topic_leaders
    if least is None:
        return ""
    topics, needed = np.unique(least.topics), np.bincount(least.topics, weights=least.least)
    have = np.bincount(placements.topics, minlength=len(placements.topic_names))
    short = topics[np.argmin(have[topics] - needed[topics])]
    name, brokers, partitions = placements.topic_names[short], int(np.count_nonzero(least.topics == short)), int(have[short])
    return (
        f"The {counted(brokers, 'broker')} of topic {name!r} {'is' if brokers == 1 else 'are'} "
        f"to lead {needed[short]:.0f} of its {counted(partitions, 'partition')}."
    )


def _total(text: str, limits: np.ndarray, usable: Bools) -> str:  # type: ignore[type-arg]
    limited = usable & (limits != NO_LIMIT)
    total = sum(limits[limited].tolist())
    rest = "" if limited.sum() == usable.sum() else f" of {int(limited.sum())} of the {int(usable.sum())} usable brokers"
    return text.format(rest, total)


def _remedies(question: RulesQuestion, rules: tuple[str, ...], factor: int) -> Iterator[str]:
    """What would mend it: each is tried before it is told."""
    for rule in rules:
        if question.without(rule).feasible():
            yield _higher(question, rule) or _WITHOUT[rule]
    fewer = least(factor - 1, lambda n: question.with_factor(factor - n).feasible())
    if fewer:
        yield f"Lower the replication factor to {factor - fewer}."
    for on_new_rack, where in ((False, "existing racks"), (True, "new racks")):
        more = least(MORE, lambda n, new=on_new_rack: question.with_more(n, on_new_rack=new).feasible())  # type: ignore[misc]
        if more:
            yield f"Add {counted(more, 'usable broker')} on {where}."


_WITHOUT: Final = {
    "racks": 'Set racks = "none".',
    "excluded_topics": "Let the excluded topics move.",
    "fenced": "Bring the fenced brokers back.",
    "draining": "Keep the draining brokers.",
    "cordoned": "Let the cordoned brokers receive replicas.",
    "destinations": "Allow all brokers as destinations.",
    "broker_sets": "Remove broker_sets.",
    "min_topic_leaders": "Remove min_topic_leaders.",
    "leaders": 'Set leaders = "balance", which moves replicas.',
    "max_replicas": "Remove max_replicas.",
    "capacity_bytes": "Remove capacity_bytes.",
    "replaces": "Drain the brokers instead of replacing them.",
}


def _higher(question: RulesQuestion, rule: str) -> str | None:
    """By how much a limit would have to be higher."""
    if rule == "max_replicas":
        replicas = least(2**31, lambda n: question.with_limits("max_replicas", lambda limits: limits + n).feasible())
        return f"Raise max_replicas by {replicas} on each broker that has one."
    if rule == "capacity_bytes":
        percent = question.more_room()
        return f"Add room for {percent}% more bytes on each broker that has capacity_bytes." if percent else None
    return None


def least(most: int, mends: Callable[[int], bool]) -> int | None:
    """The least number from 1 to ``most`` that mends it; None if none does. What one number mends, a larger one mends as well."""
    low, high = 0, 1
    while high <= most and not mends(high):
        low, high = high, 2 * high
    if high > most:
        if low >= most or not mends(most):
            return None
        high = most
    return low + 1 + bisect_left(range(low + 1, high), True, key=mends)


def _with_more(brokers: Brokers, count: int, *, on_new_rack: bool) -> Brokers:
    """The brokers and ``count`` more without limits: each on a rack of its own, or one after another on the smallest racks."""
    cluster, rack_ids = brokers.cluster, brokers.cluster.rack_ids
    racks = np.full(count, NONE, np.int32)
    if on_new_rack:
        racks = np.arange(len(rack_ids), len(rack_ids) + count, dtype=np.int32)
        rack_ids += ("",) * count
    elif rack_ids:
        sizes = np.bincount(cluster.racks[brokers.usable & (cluster.racks != NONE)], minlength=len(rack_ids))
        racks = np.resize(np.argsort(sizes, kind="stable"), count).astype(np.int32)

    def joined(some: Any, others: Any, *but: str) -> dict[str, Any]:
        names = [each.name for each in fields(some) if each.name not in but]
        return {name: np.concatenate([getattr(some, name), getattr(others, name)]) for name in names}

    more = Brokers.of(Cluster(np.full(count, NONE, np.int32), rack_ids, racks, np.zeros(count, np.bool_)))
    both = replace(cluster, rack_ids=rack_ids, **joined(cluster, more.cluster, "rack_ids", "known_load"))
    return Brokers(both, **joined(brokers, more, "cluster", "cpu_usage"))
