"""Could a placer have placed a topic this way, by which draws, and how evenly does it place such a topic over all its draws?"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np

from service.core.budget import check_time, looking
from service.core.errors import KafkaError
from service.core.jvm.random import JavaRandom
from service.core.measures import COUNTS, Load, load_of, rack_load, rows_of_topics
from service.core.model import NONE, Bools, Cluster, Float64s, Int32s, PlacementRequest, Ragged
from service.core.placers import Placer
from service.core.placers.draws import Draws, agreeing, find_seed, misfit
from service.core.printable import counted
from service.core.ragged import repeats, rows_and_places
from service.planner.reassignments.model import GIVE_RACKS

# How even a placer makes a topic: the skew of leaders and replicas over brokers and racks, over all that it can draw.
#
# Where the draws are few, each is placed; otherwise some of them, drawn from one java.util.Random with seed 0.
#
# It does not depend on how the topic is placed. Clusters have many topics of few sizes, so the last ones are kept.

MAX_EVERY: Final = 4_096
"""Draws up to which each is made."""

MAX_DRAWS: Final = 512
"""Placements that are made otherwise."""

MAX_STEPS: Final = 20_000_000
"""Steps of all placements together, which take a second or two; but FEWEST_DRAWS placements are made in any case."""

FEWEST_DRAWS: Final = 8

KEPT: Final = 16
"""Most results that are kept, of at most 128 KiB each."""

MEASURES: Final = ("broker_replicas", "broker_leaders", "rack_replicas", "rack_leaders")


@dataclass(frozen=True)
class Evenness:
    """The skew of each measure over the placements made.

    placements : how many were made; exhaustive : these are all draws, each once
    skews : float64[placements, 4]   the skew of each of MEASURES
    """

    placements: int
    exhaustive: bool
    skews: Float64s


def steps(cluster: Cluster, partitions: int, factor: int) -> int:
    """About how many steps a placement takes: replicas, brokers that are sorted, racks of fenced brokers that are passed over."""
    passed_over = partitions * len(cluster) if cluster.fenced.any() else 0
    return partitions * factor + 10 * len(cluster) + passed_over


def skews_of(cluster: Cluster, of_brokers: Load) -> list[float]:
    """The skew of each of MEASURES."""
    return [load.spread(name).skew for load in (of_brokers, rack_load(cluster, of_brokers)[1]) for name in COUNTS]


_kept: dict[Hashable, Evenness] = {}


def evenness(placer: Placer, cluster: Cluster, request: PlacementRequest) -> Evenness:
    """How even the placer makes a topic of this size, in a cluster without known load. Raises what the placer raises."""
    looked_at = (each.tobytes() for each in (cluster.broker_ids, cluster.racks, cluster.fenced))
    key = (placer.name, placer.run, placer.draws, request, cluster.rack_ids, *looked_at)
    known = _kept.get(key)
    if known is None:
        known = _computed(placer, cluster, request)
        if len(_kept) >= KEPT:
            _kept.clear()
        _kept[key] = known
    return known


def _computed(placer: Placer, cluster: Cluster, request: PlacementRequest) -> Evenness:
    allowed = max(FEWEST_DRAWS, MAX_STEPS // steps(cluster, request.partitions_count, request.replication_factor))
    count, placements = (placer.draws and placer.draws.every(cluster, request)) or (None, iter(()))
    if count is None or count > min(MAX_EVERY, allowed):
        count, random = (min(MAX_DRAWS, allowed) if placer.draws else 1), JavaRandom(0)
        placements = (placer.run(cluster, request, random) for _ in range(count))
        return Evenness(count, False, _skews(cluster, placements))
    return Evenness(count, True, _skews(cluster, placements))


def _skews(cluster: Cluster, placements: Iterator[Int32s]) -> Float64s:
    loads = (load_of(cluster, rows_of_topics([placement])) for placement in looking(placements, 1))
    return np.array([skews_of(cluster, load) for load in loads], np.float64)


# Could a placer have placed a topic this way, and by which draws?
#
# The partitions are taken in order. The placer's plain rules (different brokers, a leader that is not fenced, …) are checked
# first. The partitions before the first one that breaks such a rule are given to the inverse of the placer
# (``service.core.placers.draws``), which says how many of them some draws give.
#
# A topic that has been grown, or whose cluster has changed since, is ordinary, but not known from its placement. So if the
# placer could not have placed it in one go on these brokers, ``other_history`` is the first of these that it could have had:
# made with the brokers unfenced; made when only the brokers that hold its replicas were there; made smaller, on one of these,
# with the other partitions added on one of these.

MAX_BOUNDARIES: Final = 64
"""Places at which a topic may have been grown that are tried, from the last possible one downwards."""

MAX_COMPARISONS: Final = 1_000
"""Seeds with the right draws for which the placement is compared with the placer's."""

BEGINNING: Final = 64
"""Partitions that are tried before all of them are."""


@dataclass(frozen=True)
class CreatedPart:
    """Partitions that were placed together.

    first : row of the first; rows : how many
    cluster : "as_given", "unfenced" (no broker fenced, in the order of their ids) or "holders" (likewise, only the brokers that
        hold replicas of the topic)
    draws : what was drawn; random_seed : a seed that gives it, None if none was found
    """

    first: int
    rows: int
    cluster: str
    draws: Draws
    random_seed: int | None


@dataclass(frozen=True)
class PlacerRuleBroken:
    """The first rule that the placement breaks.

    row : the partition's; None: the placer refuses the whole request; replica : the column; None: the whole partition
    """

    row: int | None
    replica: int | None
    rule: str
    detail: str


@dataclass(frozen=True)
class PlacementAudit:
    """Could the placer have placed the topic this way?

    parts : how it was created, and grown where that was asked for; empty if it is not possible
    broken_rule : None if it is possible
    other_history : see the module's docstring; empty if it is possible, or if there is none
    """

    parts: tuple[CreatedPart, ...]
    broken_rule: PlacerRuleBroken | None
    other_history: tuple[CreatedPart, ...] = ()


def audit(placer: Placer, cluster: Cluster, placement: Ragged, first_id: int, additions: Sequence[int]) -> PlacementAudit:
    """The audit of a topic.

    placement : Ragged partition → brokers, the leader first, NONE for one that the cluster does not have; at least one partition
    first_id : the id of the first; additions : rows, ascending, at which partitions were added
    """
    plain, broken = _plain_rows(placer, cluster, placement)
    factor = int(placement.lengths()[0])
    sound = placement.values[: plain * factor].reshape(plain, factor) if plain else np.empty((0, factor), np.int32)
    try:
        placer.run(cluster, PlacementRequest(1, factor), JavaRandom(0))
    except KafkaError as refusal:
        return PlacementAudit((), PlacerRuleBroken(None, None, type(refusal).__name__, str(refusal)))
    parts: list[CreatedPart] = []
    bounds = [0, *(row for row in additions if row < plain), plain]
    for first, last in pairwise(bounds):
        if first < last:
            draws = _draws(placer, cluster, sound, first, last, first_id)
            if draws.rows < last - first:
                broken = PlacerRuleBroken(first + draws.rows, draws.replica, draws.rule, draws.detail)
                break
            parts.append(_part(placer, cluster, sound, first, draws, "as_given", first_id))
    if broken is None:
        return PlacementAudit(tuple(parts), None)
    if cluster.fenced.any():
        plain = _plain_rows(placer, replace(cluster, fenced=np.zeros(len(cluster), np.bool_)), placement)[0]
    complete = plain == len(placement)
    return PlacementAudit((), broken, _other_history(placer, cluster, placement, first_id) if complete else ())


def _plain_rows(placer: Placer, cluster: Cluster, placement: Ragged) -> tuple[int, PlacerRuleBroken | None]:
    """How many of the first partitions keep to the rules that need no draws, and what the next one breaks."""
    factor, lengths = int(placement.lengths()[0]), placement.lengths()
    if factor == 0:
        return 0, PlacerRuleBroken(0, None, "replication-factor", "The partition has no replicas.")
    rows, columns = rows_and_places(placement.offsets)
    repeated = repeats(rows, placement.values)
    rules: list[tuple[str, Bools, str]] = [
        ("unknown-broker", placement.values == NONE, "The cluster has no such broker."),
        ("distinct-brokers", repeated, "The broker has another replica of this partition."),
    ]
    if "operations" in placer.requests:
        fenced = (columns == 0) & (placement.values != NONE) & cluster.fenced[placement.values]
        rules.append(("fenced-leader", fenced, "The broker is fenced, and a fenced broker is not made the leader."))
    broken: PlacerRuleBroken | None = None
    wrong = np.flatnonzero(lengths != factor)
    if len(wrong):
        detail = f"The partition has {counted(lengths[wrong[0]], 'replica')}, the first one has {factor}."
        broken = PlacerRuleBroken(int(wrong[0]), None, "replication-factor", detail)
    for rule, faults, detail in rules:
        values = np.flatnonzero(faults)
        if len(values) and (broken is None or broken.row is None or rows[values[0]] < broken.row):
            broken = PlacerRuleBroken(int(rows[values[0]]), int(columns[values[0]]), rule, detail)
    return (len(placement), None) if broken is None or broken.row is None else (broken.row, broken)


def _draws(placer: Placer, cluster: Cluster, placement: Int32s, first: int, last: int, first_id: int) -> Draws:
    """The draws for the rows from ``first`` to ``last``, which were added to the topic unless ``first`` is 0."""
    check_time()
    rows = placement[first:last]
    leader = int(cluster.broker_ids[placement[0, 0]]) if first > 0 else None
    if placer.draws is not None:
        return placer.draws.of_placement(cluster, rows, first_id + first, leader)
    placed = placer.run(cluster, PlacementRequest(len(rows), rows.shape[1], first_id + first), JavaRandom(0))
    draws = Draws(agreeing(placed, rows), {})
    return misfit(draws, cluster, rows, placed[draws.rows : draws.rows + 1].ravel(), f"{placer.name} with random_seed 0")


def _part(placer: Placer, cluster: Cluster, placement: Int32s, first: int, draws: Draws, name: str, first_id: int) -> CreatedPart:
    rows = placement[first : first + draws.rows]
    beginning = rows[: 4 * len(cluster)]
    request = PlacementRequest(len(rows), rows.shape[1], first_id + first)

    def gives(random: JavaRandom) -> bool:
        return all(
            agreeing(placer.run(cluster, replace(request, partitions_count=len(some)), random.copy()), some) == len(some)
            for some in ((beginning, rows) if len(beginning) < len(rows) else (rows,))
        )

    comparisons = max(1, min(MAX_COMPARISONS, MAX_STEPS // steps(cluster, *beginning.shape)))
    seed = find_seed(draws.sequence, gives, comparisons) if draws.sequence else None
    return CreatedPart(first, draws.rows, name, draws, seed)


_Candidate = tuple[str, Cluster, Int32s]
"""A name as in CreatedPart, the cluster, and the placement on it."""


def _other_history(placer: Placer, cluster: Cluster, placement: Ragged, first_id: int) -> tuple[CreatedPart, ...]:
    """See the module's docstring. The placement has one replication factor, and no broker twice in a partition."""
    replicas = placement.values.reshape(-1, int(placement.lengths()[0]))
    clusters: list[_Candidate] = [("as_given", cluster, replicas)]
    for name in ("unfenced", "holders"):
        candidate = (name, *_by_id(cluster, replicas, holders=name == "holders"))
        if not any(_are_alike(candidate, other) for other in clusters):
            clusters.append(candidate)
    created: list[tuple[int, _Candidate]] = []
    for candidate in clusters:
        name, brokers, rows = candidate
        draws = _possible_draws(placer, brokers, rows, 0, first_id)
        if draws is not None and draws.rows == len(rows):
            return (_part(placer, brokers, rows, 0, draws, name, first_id),)
        if draws is not None:
            created.append((draws.rows, candidate))
    additions: dict[int, CreatedPart | None] = {}
    for length, (name, brokers, rows) in sorted(created, key=lambda history: -history[0]):
        for boundary in range(length, max(0, length - MAX_BOUNDARIES), -1):
            if boundary not in additions:
                additions[boundary] = _addition(placer, clusters, boundary, first_id)
            added = additions[boundary]
            if added is not None:
                before = _draws(placer, brokers, rows, 0, boundary, first_id)
                return _part(placer, brokers, rows, 0, before, name, first_id), added
    return ()


def _are_alike(some: _Candidate, other: _Candidate) -> bool:
    """Are these the same placement on the same brokers, whatever their names?"""
    (_, cluster, rows), (_, other_cluster, other_rows) = some, other
    return (
        cluster.known_load is other_cluster.known_load is None
        and np.array_equal(cluster.broker_ids, other_cluster.broker_ids)
        and np.array_equal(cluster.racks, other_cluster.racks)
        and np.array_equal(cluster.fenced, other_cluster.fenced)
        and np.array_equal(rows, other_rows)
    )


def _addition(placer: Placer, clusters: list[_Candidate], boundary: int, first_id: int) -> CreatedPart | None:
    """The rows from ``boundary`` on as an addition to the topic; None if none of the clusters allows it."""
    for name, brokers, rows in clusters:
        # Nearly always the first few rows say that it is not possible.
        for some in (rows[: boundary + BEGINNING], rows):
            draws = _possible_draws(placer, brokers, some, boundary, first_id)
            if draws is None or draws.rows < len(some) - boundary:
                break
        else:
            return _part(placer, brokers, rows, boundary, draws, name, first_id) if draws else None
    return None


def _possible_draws(placer: Placer, cluster: Cluster, placement: Int32s, first: int, first_id: int) -> Draws | None:
    """The draws for the rows from ``first`` on; None if the placer refuses such a cluster, or never makes these leaders."""
    if "operations" in placer.requests and cluster.fenced[placement[first:, 0]].any():
        return None
    try:
        return _draws(placer, cluster, placement, first, len(placement), first_id)
    except KafkaError:
        return None


def _by_id(cluster: Cluster, placement: Int32s, *, holders: bool) -> tuple[Cluster, Int32s]:
    """The cluster by ascending id, no broker fenced, and the placement on it. holders : only the brokers that hold replicas"""
    chosen = np.unique(placement) if holders else np.arange(len(cluster))
    chosen = chosen[np.argsort(cluster.broker_ids[chosen], kind="stable")]
    index = np.full(len(cluster), NONE, np.int32)
    index[chosen] = np.arange(len(chosen), dtype=np.int32)
    smaller = Cluster(cluster.broker_ids[chosen], cluster.rack_ids, cluster.racks[chosen], np.zeros(len(chosen), np.bool_))
    return smaller, index[placement]


_MOVED: Final = (
    "Partitions were probably moved since, by a reassignment or by Cruise Control; or the topic was created with a manual "
    "assignment or by another placer, or brokers or racks have changed more than once."
)
_CAUSES: Final = {
    "unknown-broker": "The broker was probably removed, or the description of the cluster lacks it.",
    "distinct-brokers": "Kafka accepts no such partition, so the description is probably damaged.",
    "fenced-leader": "The broker was probably fenced after the topic was created.",
    "replication-factor": "The replication factor of some partitions was probably changed, or a reassignment is under way.",
}
_OF_RACKS: Final = ("rack-aware", "striped")
"""The placers that look at racks."""

_CLUSTERS: Final = {
    "as_given": "",
    "unfenced": " while no broker was fenced",
    "holders": " while only the brokers that hold its replicas existed",
}
"""The clause for each ``Part.cluster``."""


def verdict(placer: str, audit: PlacementAudit, *, racks_known: bool) -> str:
    """Could the placer have placed the topic this way, and if not, what has probably happened? placer : its name"""
    broken = audit.broken_rule
    if broken is None:
        return f"The placer {placer} could have placed the topic this way."
    if audit.other_history:
        return f"The placer {placer} could have placed the topic this way if it was {history(audit.other_history)}."
    if broken.row is None:
        return f"The placer {placer} refuses such a topic on these brokers, so they or the topic have probably changed since."
    cause = _CAUSES.get(broken.rule, _MOVED)
    if racks_known or broken.rule in _CAUSES or placer not in _OF_RACKS:
        return f"The placer {placer} could not have placed the topic this way. {cause}"
    without = f"The placer {placer} could not have placed the topic this way on brokers without racks"
    return f"{without}; racks are not known ({GIVE_RACKS}). If the brokers have none: {cause[0].lower()}{cause[1:]}"


def history(parts: tuple[CreatedPart, ...]) -> str:
    """``created with 6 partitions, and 4 partitions added``. parts : as of ``PlacementAudit.other_history``"""
    created, *added = parts
    text = f"created with {counted(created.rows, 'partition')}{_CLUSTERS[created.cluster]}"
    return text + "".join(f", and {counted(part.rows, 'partition')} added{_CLUSTERS[part.cluster]}" for part in added)
