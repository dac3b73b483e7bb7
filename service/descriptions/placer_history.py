"""Which placer the brokers of a release have, and whether it could have placed the topics of a cluster as they are.

Brokers with ZooKeeper place by AdminUtils, by racks if brokers have any; KRaft's controller by striped. A topic stays where it is
through an upgrade. What changes is where new topics and added partitions go, so a topic that the new placer could not have placed
so would look otherwise if it were created anew.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from service.core.documents import Json
from service.core.errors import InvalidQuestion
from service.core.kafka_versions import LATEST
from service.core.model import Cluster
from service.core.registry import reaches
from service.decisions.placements.rows import BROKER, PLACEMENT, read_cluster, read_placement
from service.descriptions.bodies import brokers
from service.descriptions.model import Description
from service.planner.placement_audits import audit, verdict
from service.strategies import PLACERS, Placer

KRAFT_SINCE: Final = "3.3"
"""The first release whose KRaft is for production (KIP-833): brokers of earlier ones have ZooKeeper."""

KRAFT_ONLY_SINCE: Final = "4.0"
"""The first release without ZooKeeper."""


@dataclass(frozen=True)
class BrokerReleases:
    """release : of Kafka; None: the newest. zookeeper : have they it, though they could do without?"""

    release: str | None
    zookeeper: bool = False

    def placer(self, *, racks: bool) -> str:
        """The name of their placer. racks : has any of them a rack?"""
        if self.zookeeper or not reaches(self.release or LATEST, KRAFT_SINCE):
            return "rack-aware" if racks else "rack-unaware"
        return "striped"


@dataclass(frozen=True)
class PlacementChange:
    """What two placers make of a topic.

    before, after : the placers
    possible_before, possible_after : could it have placed the topic this way, at once or with partitions added later?
    verdict : on the second placer, a sentence
    """

    topic_name: str
    before: str
    after: str
    possible_before: bool
    possible_after: bool
    verdict: str


def placement_changes(description: Description, before: BrokerReleases, after: BrokerReleases) -> Iterator[PlacementChange]:
    """For each topic of which all replicas are known, if the placers are not the same."""
    rows = brokers(description) if description.brokers else []
    racks = any(row.get("rack_id") for row in rows)
    names = [each.placer(racks=racks) for each in (before, after)]
    if not rows or names[0] == names[1]:
        return
    cluster = read_cluster(pa.array(rows, BROKER))
    placers = [PLACERS[name].at(version or LATEST) for name, version in zip(names, (before.release, after.release), strict=True)]
    for topic in description.topics:
        change = _change(topic, cluster, placers)
        if change is not None:
            yield change


def _change(topic: Json, cluster: Cluster, placers: list[Placer]) -> PlacementChange | None:
    placements = sorted(topic.get("placements") or (), key=lambda row: row["partition_id"])
    if not placements or [row["partition_id"] for row in placements] != list(range(len(placements))):
        return None
    rows = [{"partition_id": row["partition_id"], "replicas": row["replicas"]} for row in placements]
    _, placement = read_placement(pa.array(rows, PLACEMENT), cluster)
    found = [audit(placer, cluster, placement, 0, ()) for placer in placers]
    possible = [each.broken_rule is None or bool(each.other_history) for each in found]
    before, after = (placer.name for placer in placers)
    return PlacementChange(
        topic["topic_name"], before, after, possible[0], possible[1], verdict(after, found[1], racks_known=bool(cluster.rack_ids))
    )


def check_zookeeper(release: str) -> None:
    """Raise InvalidQuestion for a release without ZooKeeper."""
    if reaches(release, KRAFT_ONLY_SINCE):
        raise InvalidQuestion(f"Kafka has had no ZooKeeper since {KRAFT_ONLY_SINCE}: zookeeper:{release} does not exist.")
