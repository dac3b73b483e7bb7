"""What a reassignment starts from, what it aims at, and the plan.

Brokers are indices into ``Brokers``, partitions are indices into ``Placements``. The first replica of a partition is its
preferred leader, and counts as its leader.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np

from service.core.budget import check_time
from service.core.measures import load_of, racks_of
from service.core.model import NONE, Bools, Cluster, Float64s, Int32s, Int64s, Ragged
from service.core.printable import first_few
from service.core.ragged import taken, transposed
from service.planner.reassignments import OBJECTIVES

NAMED: Final = 10
"""Brokers that one sentence names at most."""

ROUNDING: Final = 1e-8
"""The share by which sums of squares may differ because they are floats."""

NO_LIMIT: Final = 2**62
"""``max_replicas`` and ``capacity_bytes`` of a broker without one."""


def or_no_limit(limit: int | None) -> int:
    """The limit as a number."""
    return NO_LIMIT if limit is None else limit


@dataclass(frozen=True)
class Brokers:
    """The brokers of a cluster, first those of the request, then those that only the placements mention.

    cluster : ids, racks, and which are fenced
    draining : bool[brokers]         to be left by all replicas
    listed : bool[brokers]           False for those that only the placements mention: they are gone
    weights : float64[brokers]       the share of the load that each is to have, relative to the others
    max_replicas, capacity_bytes : int64[brokers]   NO_LIMIT for none
    replaced_by : int32[brokers]     the broker that takes over all its replicas, or NONE
    demoted : bool[brokers]          to lead no partition that another broker can lead, and to be the last in each list
    cordoned : bool[brokers]         to keep the replicas that it has, and get no others
    destinations : bool[brokers]     those that may get others, as far as they are limited
    cpu_usage : float64[brokers]     the CPU that each uses now, NaN where unknown; None: of none
    """

    cluster: Cluster
    draining: Bools
    listed: Bools
    weights: Float64s
    max_replicas: Int64s
    capacity_bytes: Int64s
    replaced_by: Int32s
    demoted: Bools
    cordoned: Bools
    destinations: Bools
    cpu_usage: Float64s | None = None

    def __len__(self) -> int:
        return len(self.cluster)

    @classmethod
    def of(cls, cluster: Cluster) -> "Brokers":
        """The brokers of a cluster, all with the same weight and without limits."""
        count = len(cluster)
        unlimited, none, nobody = np.full(count, NO_LIMIT, np.int64), np.zeros(count, np.bool_), np.full(count, NONE, np.int32)
        return cls(cluster, none, ~none, np.ones(count, np.float64), unlimited, unlimited, nobody, none, none, ~none)

    @property
    def live(self) -> Bools:
        """bool[brokers], which serve now: those listed that are not fenced."""
        return self.listed & ~self.cluster.fenced

    @property
    def usable(self) -> Bools:
        """bool[brokers], which may have replicas: those listed that are neither fenced nor draining nor replaced."""
        usable: Bools = self.live & ~self.draining & (self.replaced_by == NONE)
        return usable

    @property
    def receiving(self) -> Bools:
        """bool[brokers], those of ``usable`` that may get replicas which they do not have."""
        return self.usable & ~self.cordoned & self.destinations

    def names(self, which: Bools | Int32s | Int64s) -> str:
        """The ``broker_names`` of these brokers: bool[brokers], or indices."""
        return broker_names(self.cluster.broker_ids[which].tolist())

    def racks(self) -> Int32s:
        """int32[brokers], the rack of each; all those without one share a rack, the last."""
        return racks_of(self.cluster)

    def unevenness(self, replicas: Ragged) -> float:
        """The sum of (replicas of a broker)² ÷ weight, over all brokers."""
        return float((load_of(self.cluster, replicas).replicas.astype(np.float64) ** 2 / self.weights).sum())


@dataclass(frozen=True)
class BrokerSets:
    """The brokers that partitions may be on, whatever else is against it.

    rows : int32[partitions], the row of each in ``allowed``; allowed : bool[sets, brokers]
    """

    rows: Int32s
    allowed: Bools


@dataclass(frozen=True)
class TopicLeaders:
    """How many partitions of a topic a broker leads at least; each pair of topic and broker once, ascending.

    topics, brokers, least : int32[pairs]; the brokers may lead
    """

    topics: Int32s
    brokers: Int32s
    least: Int32s


@dataclass(frozen=True)
class Pins:
    """Brokers that must have a replica of a partition, none twice.

    partitions : int32[pins], ascending; brokers : int32[pins]
    """

    partitions: Int32s
    brokers: Int32s


@dataclass(frozen=True)
class Placements:
    """The current placement.

    topic_names : the name of each topic
    topics, partition_ids : int32[partitions]
    replicas : Ragged partition → brokers, the preferred leader first, none twice
    replication_factors : int32[partitions]   the number of replicas that each is to have
    sizes : int64[partitions] bytes; None where unknown
    rates : float64[partitions] bytes per second that producers write; None where unknown
    excluded : bool[partitions]   those that stay as they are
    in_sync : bool[replicas], which of ``replicas`` are in sync; None where unknown
    min_in_sync : int32[partitions], ``min.insync.replicas``, or 0 where unknown; None if it is of none
    broker_sets : the brokers that each partition may be on; None: all
    read_rates : float64[partitions] bytes per second that consumers read; None where unknown
    topic_leaders : a hard rule, how many partitions of a topic a broker leads at least; None: no such rule
    pins : what that rule makes of it, see ``topic_leaders.pin``; None: nothing
    leaders : int32[partitions], the broker that leads each now, NONE for none; None where unknown
    leaving : Ragged partition → the brokers that a reassignment in progress takes from it, which ``replicas`` takes as done
    in_progress : bool[partitions], those with such a reassignment; None: not known of any
    """

    topic_names: tuple[str, ...]
    topics: Int32s
    partition_ids: Int32s
    replicas: Ragged
    replication_factors: Int32s
    sizes: Int64s | None
    rates: Float64s | None
    excluded: Bools
    in_sync: Bools | None = None
    min_in_sync: Int32s | None = None
    broker_sets: BrokerSets | None = None
    read_rates: Float64s | None = None
    topic_leaders: TopicLeaders | None = None
    pins: Pins | None = None
    leaders: Int32s | None = None
    leaving: Ragged | None = None
    in_progress: Bools | None = None

    def __len__(self) -> int:
        return len(self.topics)

    def chosen(self) -> Int32s:
        """int32[...], the partitions whose replicas and leaders may change, ascending."""
        return np.flatnonzero(~self.excluded).astype(np.int32)

    def in_sync_now(self, brokers: Brokers) -> Bools:
        """bool[replicas], which serve and are in sync as far as is known."""
        live = brokers.live[self.replicas.values]
        return live if self.in_sync is None else live & self.in_sync

    def lagging(self, brokers: Brokers) -> Bools:
        """bool[brokers], those that have replicas, and none in sync; none where that is unknown."""
        if self.in_sync is None:
            return np.zeros(len(brokers), np.bool_)
        lagging: Bools = np.bincount(self.replicas.values, minlength=len(brokers)) > 0
        lagging[self.replicas.values[self.in_sync]] = False
        return lagging

    def bytes_of_each(self) -> Int64s:
        """int64[partitions], zeros where sizes are unknown."""
        return np.zeros(len(self), np.int64) if self.sizes is None else self.sizes

    def amounts(self, balance: str) -> Int64s:
        """int64[partitions], what a replica of each counts. balance : as in Goal"""
        return self.bytes_of_each() if balance == "bytes" else np.ones(len(self), np.int64)

    def name(self, partition: int) -> str:
        """The partition as Kafka's tools write it, topic-partition."""
        return f"{self.topic_names[self.topics[partition]]}-{self.partition_ids[partition]}"


Priorities: TypeAlias = tuple[tuple[tuple[str, float], ...], ...]
"""For each priority the resources (see ``resources``) and their weights."""


@dataclass(frozen=True)
class Goal:
    """What is best.

    objective : "fewest-moves": the fewest copies, then the evenest load; "even": the reverse
    racks : "strict": each partition on as many racks as there can be; "spread": a rack has at most its share of a partition,
        or as many replicas as are there now and may stay; "none"
    leaders : "balance": evenly over the brokers, then with the fewest changes; "keep": only where a leader's replica moves, or
        its broker is demoted; "only": as "balance", and "demote": as "keep", while replicas stay where they are
    balance : what is counted, for copies and for evenness: "replicas" or "bytes"
    resources : what is evened out instead, by priority, with the weights of the resources of one priority; none: ``balance``
    per_topic : even out the replicas of each topic too, as far as it costs no copy and no evenness of the whole, and then its
        leaders, as far as it costs no evenness of the whole
    tolerance : with "even", the fewest copies that bring each broker within this share of the mean, then the evenest; None: the
        evenest
    max_moves, max_bytes : with "even", the most replicas, or bytes, that the evenest plan may copy; None: no limit
    """

    objective: str = "fewest-moves"
    racks: str = "strict"
    leaders: str = "balance"
    balance: str = "replicas"
    resources: Priorities = ()
    per_topic: bool = False
    tolerance: float | None = None
    max_moves: int | None = None
    max_bytes: int | None = None

    @classmethod
    def of(cls, objective: str | None, **rest: Any) -> "Goal":
        """A goal whose objective somebody may have left out: then "even" if only that goes with the rest."""
        between = any(rest.get(name) is not None for name in ("tolerance", "max_moves", "max_bytes"))
        return cls(objective or OBJECTIVES[between], **rest)

    @property
    def only_leaders(self) -> bool:
        """Do all replicas stay where they are?"""
        return self.leaders in ("only", "demote")

    @property
    def copies_first(self) -> bool:
        """Do copies come before evenness?"""
        return self.objective != "even" or self.tolerance is not None

    @property
    def limited(self) -> bool:
        """Is there a limit of copies?"""
        return self.max_moves is not None or self.max_bytes is not None

    def limits(self) -> Int64s:
        """int64[2], the most replicas and bytes that a plan may copy, NO_LIMIT for none."""
        return np.array([or_no_limit(self.max_moves), or_no_limit(self.max_bytes)], np.int64)

    def within_limits(self, copies: int, amount: int) -> bool:
        """May a plan copy this number of replicas and bytes?"""
        return copies <= or_no_limit(self.max_moves) and amount <= or_no_limit(self.max_bytes)


@dataclass(frozen=True)
class ResourceEvenness:
    """How even a resource is: the sum of load² ÷ weight over the usable brokers, and what no plan goes below.

    lower_bound : of plans that keep the rules and are as good in what comes before evenness, whatever else is evened out
    """

    resource: str
    value: float
    lower_bound: float

    @property
    def gap(self) -> float:
        """The sum above its bound, as a share of it, apart from rounding."""
        gap = (self.value - self.lower_bound) / max(self.lower_bound, 1e-300)
        return gap if gap > ROUNDING else 0.0


@dataclass(frozen=True)
class Plan:
    """Where everything ends.

    replicas : Ragged partition → brokers, the preferred leader first
    lower_bound : no plan that is as good in what comes before copies copies less: replicas, or bytes if these are balanced
    cost : what this plan copies, in the same unit
    evenness : the sum of squares that ``service.planner.reassignments.evenness`` defines
    evenness_bound : no plan that is as good in what comes before evenness has a smaller sum
    outside : int32[...], the brokers that the rules keep out of the tolerance
    resources : how even each resource of the goal is
    """

    replicas: Ragged
    lower_bound: int
    cost: int
    evenness: float
    evenness_bound: float
    outside: Int32s = field(default_factory=lambda: np.empty(0, np.int32))
    resources: tuple[ResourceEvenness, ...] = ()

    @property
    def gap(self) -> float | None:
        """How far the copies may be from the fewest, as a share of the bound; 0.0: proven the fewest; None: the bound is 0."""
        if self.cost <= self.lower_bound:
            return 0.0
        return (self.cost - self.lower_bound) / self.lower_bound if self.lower_bound else None

    @property
    def evenness_gap(self) -> float:
        """The same of evenness, apart from rounding."""
        gap = (self.evenness - self.evenness_bound) / max(1.0, self.evenness_bound)
        return gap if gap > ROUNDING else 0.0

    @property
    def goals(self) -> dict[str, Any]:
        """The value, bound and gap of each goal, and of each resource if there are several."""
        resources = [{**asdict(each), "gap": each.gap} for each in self.resources]
        return {
            "copies": {"value": self.cost, "lower_bound": self.lower_bound, "gap": self.gap},
            "evenness": {"value": self.evenness, "lower_bound": self.evenness_bound, "gap": self.evenness_gap},
            **({"resources": resources} if resources else {}),
        }


def bytes_on(replicas: Ragged, sizes: Int64s, brokers_count: int) -> Int64s:
    """int64[brokers]: the bytes of the replicas on each. sizes : int64[partitions]"""
    loads = np.zeros(brokers_count, np.int64)
    np.add.at(loads, replicas.values, sizes[replicas.row_of_each_value()])
    return loads


def broker_names(ids: list[int]) -> str:
    """``broker 7``, ``brokers 1, 2`` or, of very many, ``brokers 1, 2, … and 5 more``."""
    return f"broker{'s' * (len(ids) != 1)} {first_few(ids, NAMED)}"


# Which new broker replaces which broker that is gone, as far as there is but one answer.


@dataclass(frozen=True)
class Replacements:
    """Who may replace whom.

    gone, new : int32[...]   brokers that only placements mention, and brokers without replicas that receive some
    may : bool[gone, new]
    """

    gone: Int32s
    new: Int32s
    may: Bools

    @classmethod
    def of(cls, brokers: Brokers, placements: Placements, racks_rule: str) -> "Replacements":
        """A new broker may replace one that is gone unless its rack has another replica of a partition of that one.

        racks_rule : as in Goal; with "none", and without racks, any may
        """
        rows = placements.replicas
        holds = np.bincount(rows.values, minlength=len(brokers)) > 0
        gone = np.flatnonzero(holds & ~brokers.listed).astype(np.int32)
        replaces = np.isin(np.arange(len(brokers)), brokers.replaced_by)
        new = np.flatnonzero(~holds & brokers.receiving & ~replaces).astype(np.int32)
        may = np.ones((len(gone), len(new)), np.bool_)
        if racks_rule != "none" and len(brokers.cluster.rack_ids):
            racks, partitions_of = brokers.racks(), transposed(rows, len(brokers))
            taken_racks = np.zeros(racks.max() + 1, np.bool_)
            for row, broker in enumerate(gone.tolist()):
                check_time()
                others = taken(rows, partitions_of.row(broker)).values
                taken_racks[:] = False
                taken_racks[racks[others[brokers.listed[others]]]] = True
                may[row] = ~taken_racks[racks[new]]
        return cls(gone, new, may)

    @cached_property
    def certain(self) -> Bools:
        """bool[gone, new], the pairs of which neither may have another partner."""
        certain: Bools = self.may & (self.may.sum(axis=1) == 1)[:, None] & (self.may.sum(axis=0) == 1)
        return certain

    def replaced_by(self, brokers: Brokers) -> Int32s:
        """int32[brokers], as in ``Brokers``, with the pairs that are certain."""
        replaced_by = brokers.replaced_by.copy()
        rows, columns = np.nonzero(self.certain)
        replaced_by[self.gone[rows]] = self.new[columns]
        return replaced_by

    def rows(self, brokers: Brokers) -> list[dict[str, int]]:
        """The pairs that are certain, the new broker's ``broker_id`` and the one that it ``replaces``."""
        ids = brokers.cluster.broker_ids
        pairs = np.argwhere(self.certain).tolist()
        return [{"broker_id": int(ids[self.new[column]]), "replaces": int(ids[self.gone[row]])} for row, column in pairs]

    def doubts(self, brokers: Brokers) -> Iterator[str]:
        """Sentences about the brokers that are gone and have no certain replacement."""
        ids = brokers.cluster.broker_ids
        for row in np.flatnonzero(~self.certain.any(axis=1))[:3].tolist():
            able = self.new[self.may[row]]
            if not len(self.new):
                why = "there is no new broker"
            elif not len(able):
                why = "each new broker is on a rack that has another replica of one of its partitions"
            elif len(able) == 1:
                why = f"{broker_names(ids[able].tolist())} could also replace another one"
            else:
                why = f"{broker_names(ids[able].tolist())} could each do so"
            yield f"No broker replaces broker {ids[self.gone[row]]}: {why}."


# What answers say where racks are not known.

GIVE_RACKS: Final = "give the rack_id of brokers, by --rack 1:a, a table of racks or a snapshot"
RACKS_UNKNOWN: Final = f"racks are not known ({GIVE_RACKS}; --racks unknown accepts it)"


def rackless(cluster: Cluster, counted: Bools) -> Iterator[str]:
    """The brokers without a rack where others have one, in a sentence. counted : bool[brokers], those that matter"""
    without = (cluster.racks == NONE) & counted
    if len(cluster.rack_ids) and without.any():
        names, have = broker_names(cluster.broker_ids[without].tolist()), "has" if without.sum() == 1 else "have"
        yield (
            f"{names.capitalize()} {have} no rack and count{'s' * (have == 'has')} as one rack; Kafka's own tool refuses such a "
            "cluster (Not all brokers have rack information)."
        )
