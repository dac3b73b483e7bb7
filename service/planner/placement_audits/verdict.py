"""What an audit means to somebody who operates the cluster, in a sentence or two."""

from typing import Final

from service.core.printable import counted
from service.planner.placement_audits.audit import CreatedPart, PlacementAudit

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
_CLUSTERS: Final = {
    "as_given": "",
    "unfenced": " while no broker was fenced",
    "holders": " while only the brokers that hold its replicas existed",
}
"""The clause for each ``Part.cluster``."""


def verdict(placer: str, audit: PlacementAudit) -> str:
    """Could the placer have placed the topic this way, and if not, what has probably happened? placer : its name"""
    broken = audit.broken_rule
    if broken is None:
        return f"The placer {placer} could have placed the topic this way."
    if audit.other_history:
        return f"The placer {placer} could have placed the topic this way if it was {_history(audit.other_history)}."
    if broken.row is None:
        return f"The placer {placer} refuses such a topic on these brokers, so they or the topic have probably changed since."
    return f"The placer {placer} could not have placed the topic this way. {_CAUSES.get(broken.rule, _MOVED)}"


def _history(parts: tuple[CreatedPart, ...]) -> str:
    created, *added = parts
    text = f"created with {counted(created.rows, 'partition')}{_CLUSTERS[created.cluster]}"
    return text + "".join(f", and {counted(part.rows, 'partition')} added{_CLUSTERS[part.cluster]}" for part in added)
