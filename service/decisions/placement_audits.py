"""Whether a placer could have placed a topic this way: the question, and its answer."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from service.core.errors import InvalidQuestion, faults_of, raise_all
from service.core.kafka_versions import LATEST
from service.core.measures import Load, ZoneTraffic, load_of, placed_traffic, spread
from service.core.model import Cluster, Int32s, PlacementRequest, Ragged
from service.core.ragged import taken
from service.decisions.budget import Budget
from service.decisions.figures import Figures
from service.decisions.placements.rows import check_brokers, read_cluster, read_placement
from service.decisions.rows import duplicates
from service.planner.placement_audits import Evenness, PlacementAudit, audit, evenness
from service.strategies import PLACERS, Placer


@dataclass(frozen=True)
class AuditQuestion:
    """Could this placer have placed the topic this way?

    brokers, placements : rows (see ``placements.rows``: BROKER, PLACEMENT), each well-formed
    additions : the first id of the partitions that were added to the topic, for each addition
    """

    brokers: pa.StructArray
    placements: pa.StructArray
    placer: str = "striped"
    kafka_version: str = LATEST
    topic_name: str | None = None
    additions: tuple[int, ...] = ()


@dataclass(frozen=True)
class AuditAnswer:
    """The audit.

    placement : Ragged partition → brokers, NONE for one that the cluster does not have; first_id : of the first partition
    position : int32[partitions], where each stands in the question
    evenness : over all draws; None if the placer refuses such a topic, or partitions differ in replicas
    load : of the brokers, as it is; traffic : between zones, likewise; None without racks
    """

    question: AuditQuestion
    placer: Placer
    cluster: Cluster
    first_id: int
    placement: Ragged
    position: Int32s
    audit: PlacementAudit
    evenness: Evenness | None
    load: Load
    traffic: ZoneTraffic | None

    @property
    def figures(self) -> Figures:
        """See Figures."""
        items = {"partitions": len(self.placement), "brokers": len(self.cluster)}
        return Figures(self.placer.name, items, spread(self.load.replicas).skew, self.question.topic_name)


def answer(question: AuditQuestion, budget: Budget) -> AuditAnswer:
    """Audit the placement. Raises InvalidQuestion (all faults at once), KafkaError, and what the budget raises."""
    replicas = len(question.placements.field("replicas").flatten())
    budget.check("max_placement_cells", replicas, "replicas", "placements")
    # Arrays of the placement and of the placer's own, and the answer.
    budget.reserve(100_000 + 100 * len(question.placements) + 150 * replicas + 600 * len(question.brokers))
    cluster = read_cluster(question.brokers)
    check_brokers(cluster, replicas, budget)
    raise_all(_faults(question, cluster))
    placer = _placer(question)
    ids, placement = read_placement(question.placements, cluster)
    order = np.argsort(ids, kind="stable").astype(np.int32)
    ids = ids[order]
    gap = np.flatnonzero(np.diff(ids) != 1)
    if len(gap):
        raise InvalidQuestion(f"Partition {ids[gap[0]] + 1} is missing.", "placements")
    raise_all(_wrong_additions(question.additions, int(ids[0]), int(ids[-1])))
    additions = tuple(partition_id - int(ids[0]) for partition_id in question.additions)
    if (order != np.arange(len(order))).any():
        placement = taken(placement, order)
    result = audit(placer, cluster, placement, int(ids[0]), additions)
    lengths = placement.lengths()
    request = PlacementRequest(len(placement), int(lengths[0]), int(ids[0]))
    refused = result.broken_rule is not None and result.broken_rule.row is None
    even = None if refused or (lengths != lengths[0]).any() else evenness(placer, cluster, request)
    load, traffic = load_of(cluster, placement), placed_traffic(cluster, placement, None)
    return AuditAnswer(question, placer, cluster, int(ids[0]), placement, order, result, even, load, traffic)


def _placer(question: AuditQuestion) -> Placer:
    placer = PLACERS[question.placer].at(question.kafka_version)
    if "partitions_count" not in placer.requests:
        detail = f"{placer.name} places several topics together; a single topic cannot be audited."
        raise InvalidQuestion(detail, "placer")
    return placer


def _faults(question: AuditQuestion, cluster: Cluster) -> Iterator[InvalidQuestion]:
    yield from faults_of(lambda: _placer(question))
    yield from duplicates.in_column("brokers", question.brokers, "broker_id")
    if not len(cluster):
        yield InvalidQuestion("Must have at least one broker.", "brokers")
    if not len(question.placements):
        yield InvalidQuestion("Must have at least one partition.", "placements")
    yield from duplicates.in_column("placements", question.placements, "partition_id")


def _wrong_additions(ids: tuple[int, ...], first_id: int, last_id: int) -> Iterator[InvalidQuestion]:
    for i, partition_id in enumerate(ids):
        if not first_id < partition_id <= last_id:
            yield InvalidQuestion(f"Must be in [{first_id + 1}, {last_id}].", "additions", i)
        elif i and partition_id <= ids[i - 1]:
            yield InvalidQuestion("Must be larger than the one before.", "additions", i)
