"""Request bodies made from a description: the parts of a cluster that an endpoint takes, and nothing else."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final

from service.core.documents import Json
from service.core.errors import InvalidQuestion
from service.descriptions.leaders import Leader, leader_of
from service.descriptions.model import Description
from service.descriptions.subscriptions import MEMBER, partition_counts, rows_of, with_subscriptions
from service.descriptions.tools_text import STREAMS
from service.wire.connect_protocol import CONNECT, connect_request

BROKER: Final = ("broker_id", "rack_id", "fenced")
PLACEMENT: Final = ("partition_id", "replicas")
STATE: Final = ("in_sync_replicas", "leader", "adding_replicas", "removing_replicas")
NO_PLACEMENT: Final = "The placement is not known. Describe the topics as well: kafka-topics --describe."
_PROTOCOLS: Final = {"uniform": "consumer", "simple": "share"}
"""The protocol of the assignors that only one protocol has."""


def group_assignment(description: Description, group_id: str | None, **chosen: str | None) -> Json:
    """The body of ``POST /v1/group-assignments`` for a group; None: the only one. Raises InvalidQuestion.

    chosen : ``group_protocol``, ``assignor``, ``client`` and ``client_version``, where they are not to be as described

    The topics are those that the members subscribe to. If the description has no subscriptions, as the output of
    kafka-consumer-groups, they are the topics that the group owns partitions of or has committed offsets of; who reads which of
    them, and partition counts that are not described, are assumed by ``service.descriptions.subscriptions``.
    """
    return assumed_group(description, group_id, **chosen)[0]


def assumed_group(description: Description, group_id: str | None, **chosen: str | None) -> tuple[Json, list[str]]:
    """The body as ``group_assignment`` makes it, and in sentences what it assumes. Raises InvalidQuestion."""
    group = _chosen_group(description, group_id, chosen)
    if group.get("group_protocol") == CONNECT:
        raise InvalidQuestion(f"Group {group['group_id']!r} is one of Kafka Connect: its members do not subscribe to topics.")
    if group.get("group_protocol") == STREAMS:
        raise InvalidQuestion(
            f"Group {group['group_id']!r} is one of Kafka Streams (protocol streams): its members run tasks. What runs where "
            "answers POST /v1/streams-assignments, which needs the subtopologies; kafka-streams-groups does not print them."
        )
    members = _members(group)
    subscribed = {name for member in members for name in member.get("topic_names") or ()}
    names = set(subscribed)
    if not all("topic_names" in member for member in members):
        names |= {name for rows in rows_of(group) for name in rows}
    if not names:
        raise InvalidQuestion(f"The topics of group {group['group_id']!r} are not known.")
    known = {topic["topic_name"]: topic for topic in description.topics}
    unknown = {name for name in names if "partitions_count" not in known.get(name, {})}
    notes: list[str] = []
    if unknown - subscribed or unknown == names:
        counts, notes = partition_counts(
            group, sorted(unknown), lambda name: len(known.get(name, {}).get("log_end_offsets") or ())
        )
        known |= {name: {"topic_name": name, **known.get(name, {}), "partitions_count": count} for name, count in counts.items()}
        unknown = set()
    with_racks = any(member.get("rack_id") for member in members)
    racks = {broker["broker_id"]: broker.get("rack_id") for broker in description.brokers} if with_racks else {}
    body = _strategy(description, group, chosen) | {
        "topics": [_group_topic(known[name], racks) for name in sorted(names - unknown)]
    }
    at_rest = described_group(description, group_id)
    its_own = _strategy(description, at_rest, {}) if "assignor" in at_rest else {}
    members, assumed = with_subscriptions(group, {**body, **its_own})
    return {**body, "members": [picked(member, MEMBER) for member in members]}, [*assumed, *notes]


def _strategy(description: Description, group: Json, chosen: Mapping[str, str | None]) -> Json:
    """The fields of a body that say how a group is assigned."""
    assignor = group.get("assignor")
    protocol = group.get("group_protocol", _PROTOCOLS.get(assignor or ""))
    body = {"group_protocol": protocol, "assignor": assignor, "group_id": group["group_id"]}
    its = leader(description, group["group_id"], **chosen)
    return {**{name: value for name, value in body.items() if value is not None}, **(its.fields if its else {})}


def connect_assignment(description: Description, group_id: str | None, assignor: str | None = None) -> Json:
    """The body of ``POST /v1/connect-assignments`` for the next rebalance of a group; None: the only one. Raises InvalidQuestion.

    assignor : where it is not to be as described
    """
    group = described_group(description, group_id)
    return connect_request(group["group_id"], assignor or group.get("assignor"), _members(group))


def is_connect(description: Description, group_id: str | None) -> bool:
    """Do Kafka Connect's workers form the group? None: the only one. Raises InvalidQuestion."""
    return described_group(description, group_id).get("group_protocol") == CONNECT


def leader(description: Description, group_id: str | None, **chosen: str | None) -> Leader | None:
    """Who leads a group; None: the only one. chosen : see ``group_assignment``. Raises InvalidQuestion."""
    group = _chosen_group(description, group_id, chosen)
    return leader_of(
        {**group, "group_protocol": group.get("group_protocol", _PROTOCOLS.get(group.get("assignor") or "", "classic"))}
    )


def _chosen_group(description: Description, group_id: str | None, chosen: Mapping[str, str | None]) -> Json:
    return described_group(description, group_id) | {name: value for name, value in chosen.items() if value is not None}


def described_group(description: Description, group_id: str | None) -> Json:
    """A group; None: the only one. Raises InvalidQuestion."""
    return _one(description.groups, "group_id", group_id, "group")


def described_topic(description: Description, topic_name: str | None) -> Json:
    """A topic; None: the only one of which more than its size is known. Raises InvalidQuestion."""
    topics = description.topics
    if topic_name is None:
        topics = tuple(topic for topic in topics if topic.keys() - {"topic_name", "partition_bytes"})
    return _one(topics, "topic_name", topic_name, "topic")


def _members(group: Json) -> list[Json]:
    """The members of a group. Raises InvalidQuestion if there are none."""
    if "members" not in group and group.get("group_state", "Stable") == "Stable":
        tool = "kafka-share-groups" if group.get("group_protocol") == "share" else "kafka-consumer-groups"
        raise InvalidQuestion(
            f"The members of group {group['group_id']!r} are not known: {tool} --describe --members lists them."
        )
    if "members" not in group:
        # The coordinator describes them once the group has rebalanced.
        raise InvalidQuestion(f"The members of group {group['group_id']!r} are not known; its state is {group['group_state']}.")
    if not group.get("members"):
        raise InvalidQuestion(f"Group {group['group_id']!r} has no members. Say how many it is to have: --members 3.")
    if group.get("members_count", 0) > len(group["members"]):
        raise InvalidQuestion(
            f"Group {group['group_id']!r} has {group['members_count']} members, of which {len(group['members'])} are listed: rpk "
            "leaves out those without partitions. Describe the members: kafka-consumer-groups --describe --members."
        )
    return list(group["members"])


def with_lag(topics: list[Json], description: Description, group_id: str) -> list[Json]:
    """The topics of a body with the group's ``lag``, if it is known of any partition."""
    committed = {
        part["topic_name"]: dict(zip(part["partition_ids"], part["offsets"], strict=True))
        for part in described_group(description, group_id).get("committed_offsets", ())
    }
    described = {topic["topic_name"]: topic for topic in description.topics}
    names = [topic["topic_name"] for topic in topics]
    if not any(name in committed and described.get(name, {}).get("log_end_offsets") for name in names):
        return topics
    return [{**topic, "lag": _lag(topic, committed, described.get(topic["topic_name"], {}))} for topic in topics]


def _lag(topic: Json, committed: Mapping[str, Mapping[int, int | None]], described: Json) -> Json:
    """The ``lag`` of a topic of a body; null is what is not known."""
    of_topic, ids = committed.get(topic["topic_name"], {}), range(topic["partitions_count"])
    logs = {}
    for name in ("log_end_offsets", "log_start_offsets"):
        if described.get(name) or name == "log_end_offsets":
            offsets = dict(enumerate(described.get(name) or ()))
            logs[name] = [offsets.get(i) for i in ids]
    return {"committed_offsets": [of_topic.get(i) for i in ids], **logs}


def lags_of(group: Json, description: Description) -> dict[tuple[str, int], int | None]:
    """(topic_name, partition_id) → records that are not committed yet, of each partition that the group is listed with.

    None: not known, for want of a committed offset or a log end. A log end may be older than the commit: the lag is then 0.
    """
    ends = {topic["topic_name"]: topic.get("log_end_offsets") or () for topic in description.topics}
    lags: dict[tuple[str, int], int | None] = {}
    for part in group.get("committed_offsets", ()):
        of_topic = ends.get(part["topic_name"], ())
        for i, offset in zip(part["partition_ids"], part["offsets"], strict=True):
            end = of_topic[i] if 0 <= i < len(of_topic) else None
            known = offset is not None and end is not None and end >= 0
            lags[part["topic_name"], i] = max(0, end - offset) if known else None
    return lags


def placement_audit(description: Description, topic_name: str | None) -> Json:
    """The body of ``POST /v1/placement-audits`` for a topic; None: the only one. Raises InvalidQuestion."""
    topic = described_topic(description, topic_name)
    if not topic.get("placements"):
        raise InvalidQuestion(f"The placement of topic {topic['topic_name']!r} is not known.")
    placements = [picked(placement, PLACEMENT) for placement in topic["placements"]]
    return {"brokers": brokers(description), "topic_name": topic["topic_name"], "placements": placements}


def partition_count_plan(description: Description, topic_name: str | None, *, has_sizes: bool = False) -> Json:
    """The body of ``POST /v1/partition-count-plans`` for a topic, without keys and counts; None: the only one.

    The rates are those of the whole topic, if the description has them for each of its partitions. Raises InvalidQuestion.
    has_sizes : will the keys have bytes? Without, there can be no rate of bytes
    """
    topic = described_topic(description, topic_name)
    if "partitions_count" not in topic:
        name = topic["topic_name"]
        raise InvalidQuestion(f"The partition count of topic {name!r} is not known: kafka-topics --describe prints it.")
    body = {"topic_name": topic["topic_name"], "current_partitions_count": topic["partitions_count"]}
    for name in ("records_per_second", "bytes_per_second")[: 1 + has_sizes]:
        rates = topic.get(name) or [None]
        if None not in rates and sum(rates) > 0:
            body[name] = sum(rates)
    return body


def cluster(description: Description, placement: tuple[str, ...] = (*PLACEMENT, *STATE)) -> Json:
    """``brokers`` and ``topics`` with their placements, as the bodies about existing replicas have them. Raises InvalidQuestion.

    placement : the members of a placement to keep
    """

    def state(one: Json) -> Json:  # null says nothing where no partition has a leader
        none = {"leader": -1} if "leader" in placement and one.get("leader", 0) is None else {}
        return picked(one, placement) | none

    topics = [
        {"topic_name": topic["topic_name"], "placements": [state(one) for one in topic["placements"]]}
        for topic in description.topics
        if "placements" in topic
    ]
    return {"brokers": brokers(description, "cordoned"), "topics": topics}


def placement_check(description: Description) -> Json:
    """The body of ``POST /v1/placement-checks``. Raises InvalidQuestion."""
    body = cluster(description)
    if description.topics and not body["topics"]:
        raise InvalidQuestion(NO_PLACEMENT)
    least = {topic["topic_name"]: picked(topic, ("min_insync_replicas",)) for topic in description.topics}
    body["topics"] = [{**topic, **least[topic["topic_name"]]} for topic in body["topics"]]
    return body


def reassignment(description: Description) -> Json:
    """The body of ``POST /v1/reassignments``, with rates, and with sizes and capacities, if those of all are known. Raises
    InvalidQuestion.
    """
    body = placement_check(description)
    described = {topic["topic_name"]: topic for topic in description.topics}
    _add_of_partitions(body, "partition_bytes_per_second", {name: _written(topic) for name, topic in described.items()})
    sizes = {name: topic.get("partition_bytes") or () for name, topic in described.items()}
    if not _add_of_partitions(body, "partition_bytes", sizes):
        return body
    for broker, its in zip(body["brokers"], description.brokers, strict=True):
        broker.update(picked(its, ("capacity_bytes", "used_bytes")))
    return body


def log_dir_plan(description: Description, broker_ids: Collection[int] = ()) -> Json:
    """The body of ``POST /v1/log-dir-plans``. broker_ids : only these; none of them means all. Raises InvalidQuestion."""
    rows = [row for row in description.log_dirs if row.get("log_dirs")]
    if not rows:
        raise InvalidQuestion(
            "The log directories are not known. Give a snapshot, or the output of kafka-log-dirs --describe besides that of "
            "kafka-topics --describe."
        )
    topics = cluster(description, PLACEMENT)["topics"]
    if not topics:
        raise InvalidQuestion(NO_PLACEMENT)
    known = {row["broker_id"] for row in rows}
    unknown = sorted(set(broker_ids) - known)
    if unknown:
        raise InvalidQuestion(f"The log directories of broker {unknown[0]} are not known.")
    return {
        "brokers": [
            {"broker_id": row["broker_id"], "log_dirs": _disks(row["log_dirs"])}
            for row in rows
            if not broker_ids or row["broker_id"] in broker_ids
        ],
        "topics": topics,
    }


def share_a_disk(log_dirs: Iterable[Json]) -> bool:
    """Do several directories seem to be on one disk? Then all report the same size and the same use, whatever is in them."""
    of_disks = [(each.get("capacity_bytes"), each.get("used_bytes")) for each in log_dirs]
    known = [each for each in of_disks if None not in each]
    return len(set(known)) < len(known)


def _disks(log_dirs: list[Json]) -> list[Json]:
    """Directories, without capacities if several are on one disk: moving replicas then leaves it as full as it is."""
    of_disk = () if share_a_disk(log_dirs) else ("capacity_bytes", "used_bytes")
    return [picked(log_dir, ("log_dir", "cordoned", "draining", "replicas", *of_disk)) for log_dir in log_dirs]


def _add_of_partitions(body: Json, field: str, numbers: Mapping[str, Sequence[float | None]]) -> bool:
    """Give each topic of a body the numbers of its partitions, if they are known of all. numbers : topic → those of 0, 1, …"""
    found = [
        [dict(enumerate(numbers[topic["topic_name"]])).get(placement["partition_id"]) for placement in topic["placements"]]
        for topic in body["topics"]
    ]
    if any(number is None for of_topic in found for number in of_topic):
        return False
    for topic, of_topic in zip(body["topics"], found, strict=True):
        topic[field] = of_topic
    return True


def _written(topic: Json) -> list[float | None]:
    """Bytes per second that producers write to each partition: its growth, or where old segments were deleted meanwhile its
    records per second × its mean bytes per record.
    """
    growth, records, sizes, ends, starts = (
        topic.get(name) or ()
        for name in ("bytes_per_second", "records_per_second", "partition_bytes", "log_end_offsets", "log_start_offsets")
    )
    if not records:
        return list(growth)
    rates: list[float | None] = []
    for grown, rate, size, end, start in zip_longest(growth, records, sizes, ends, starts):
        known = None not in (rate, size, end, start) and end > start
        rates.append(grown if grown is not None else round(rate * size / (end - start), 3) if known else None)
    return rates


def brokers(description: Description, *more: str) -> list[Json]:
    """The ``brokers`` of a body. more : members beyond BROKER. Raises InvalidQuestion if none are known."""
    if not description.brokers:
        raise InvalidQuestion("The brokers are not known. Describe topics, or give a snapshot.")
    return [picked(broker, (*BROKER, *more)) for broker in description.brokers]


def picked(row: Json, names: Iterable[str]) -> Json:
    """The members of ``row`` that are in ``names`` and not null."""
    return {name: row[name] for name in names if row.get(name) is not None}


def _group_topic(topic: Json, racks: dict[int, Any]) -> Json:
    body = picked(topic, ("topic_name", "topic_id", "partitions_count"))
    if any(racks.values()) and topic.get("placements"):
        rows = {placement["partition_id"]: placement["replicas"] for placement in topic["placements"]}
        body["partition_racks"] = [
            [racks[broker] for broker in rows.get(i, ()) if racks.get(broker)] for i in range(topic["partitions_count"])
        ]
    return body


def _one(rows: tuple[Json, ...], key: str, name: str | None, what: str) -> Json:
    """The row of this name, or the only row."""
    if name is None and len(rows) == 1:
        return rows[0]
    names = [row[key] for row in rows]
    if name in names:
        return rows[names.index(name)]
    listed = ", ".join(map(repr, sorted(names)[:10])) + (", …" if len(names) > 10 else "")
    if not names:
        tool = {"group": "kafka-consumer-groups", "topic": "kafka-topics"}[what]
        raise InvalidQuestion(f"The description has no {what}: {tool} --describe prints it.")
    raise InvalidQuestion(f"Which {what}? {listed}." if name is None else f"No {what} {name!r}; it must be one of {listed}.")
