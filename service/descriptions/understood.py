"""What was understood of a description, in words: what was read, and what is not known."""

from collections.abc import Iterator, Sequence

from service.core.documents import Json
from service.core.printable import counted, first_few
from service.descriptions.model import Description

NAMED = 3
"""Most names in a sentence."""


def understood(description: Description) -> str:
    """``Read 40 topics (805 partitions) on 12 brokers and 1 group of 25 members with its lag. Racks are not known.``"""
    parts = [part for part in (_topics(description), _groups(description), _disks(description)) if part]
    what = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts) or _brokers(description)
    return " ".join((f"Read {what or 'nothing'}.", *_unknown(description)))


def _brokers(description: Description) -> str:
    return counted(len(description.brokers), "broker") if description.brokers else ""


def _topics(description: Description) -> str:
    topics = description.topics
    if not topics:
        return ""
    counts = [partitions_of(topic) for topic in topics]
    known = sum(count for count in counts if count is not None)
    partitions = f" ({counted(known, 'partition')})" if None not in counts else ""
    on = f" on {_brokers(description)}" if any(topic.get("placements") for topic in topics) else ""
    return f"{counted(len(topics), 'topic')}{partitions}{on}"


def partitions_of(topic: Json) -> int | None:
    """How many partitions a topic has; None if that is not known."""
    count: int | None = topic.get("partitions_count")
    return len(topic["placements"]) if count is None and topic.get("placements") else count


def _groups(description: Description) -> str:
    groups = description.groups
    if not groups:
        return ""
    members = [len(group["members"]) for group in groups if "members" in group]
    of = f" of {counted(sum(members), 'member')}" if len(members) == len(groups) else ""
    with_lag = sum(_has_lag(group, description) for group in groups)
    its = "its" if len(groups) == 1 else "their"
    lag = f" with {its} lag" if with_lag == len(groups) else f", {with_lag} with their lag" if with_lag else ""
    return f"{counted(len(groups), 'group')}{of}{lag}"


def _has_lag(group: Json, description: Description) -> bool:
    ends = {topic["topic_name"] for topic in description.topics if topic.get("log_end_offsets")}
    committed = [part["topic_name"] for part in group.get("committed_offsets", ())]
    return bool(committed) and ends.issuperset(committed)


def _disks(description: Description) -> str:
    return f"the log directories of {counted(len(description.log_dirs), 'broker')}" if description.log_dirs else ""


def _unknown(description: Description) -> Iterator[str]:
    """What is not known of what was read."""
    brokers = description.brokers
    without = [str(broker["broker_id"]) for broker in brokers if not broker.get("rack_id")]
    if without and len(without) == len(brokers):
        yield "Racks are not known."
    elif without:
        yield f"The racks of brokers {first_few(without, NAMED)} are not known."
    uncounted = [topic["topic_name"] for topic in description.topics if partitions_of(topic) is None]
    if uncounted:
        yield f"The partition counts of {first_few(uncounted, NAMED)} are not known."
    if description.groups and not any(_has_lag(group, description) for group in description.groups):
        yield "Lag is not known."
    yield from _without_members(description.groups)


def _without_members(groups: Sequence[Json]) -> Iterator[str]:
    unlisted = [group["group_id"] for group in groups if "members" not in group]
    if unlisted:
        yield f"The members of {first_few(unlisted, NAMED)} are not known."
