"""The question: a group, its protocol and assignor, and what else to compare them with."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Self

import pyarrow as pa

from service.core.budget import Budget, looking
from service.core.certificate import Certificate
from service.core.errors import AllocatorError, InvalidQuestion, KafkaError, LimitExceeded, PluginError, UnknownStrategy
from service.core.kafka_versions import LATEST
from service.core.measures import ZoneTraffic, weighted_load, zone_traffic
from service.core.model import Float64s, Group, Int32s, Ragged
from service.core.ragged import transposed
from service.decisions.groups.rows import (
    MEMBER,
    TOPIC,
    expected_faults,
    largest_counts,
    member_faults,
    partitions_total,
    plain_members,
    plain_topics,
    subscriptions_total,
    topic_faults,
    topic_names_bytes,
    with_counts,
)
from service.decisions.rows import faults_of, names_bytes, raise_all
from service.planner.rebalances import Movement, Rebalance, final_rows, follow_up, movement, rebalance
from service.strategies import BALANCED, GROUP_PROTOCOLS, NOT_BALANCED, TASK_PROTOCOLS, Assignor, of_client

PARTITION_BYTES: Final = 48
SHARED_BYTES: Final = 53
SUBSCRIPTION_BYTES: Final = 12
CLAIM_BYTES: Final = 150
"""Most memory of an assignment for each partition (in a share group: each member of a partition), subscription and owned
partition. Measured: 45 where each is in a list of its own, 45, 8, and 150 of unlike members with ``sticky``."""

TRAFFIC_BYTES: Final = 40
"""Most memory for the rack of each replica while what crosses zones is measured."""

LOAD_BYTES: Final = 100
"""Memory of the loads of a member under an assignor that is compared, and of their text."""

UNVARIED: Final = {"max_moves": None, "frontier": False, "min_partitions": None, "max_records_per_partition": None, "compare": ()}
"""What an assignor that is compared is not asked for."""

VARIED: Final = ("group_protocol", "assignor", "client", "client_version", "balance_racks", "kafka_version")
"""The fields of an assignor that is compared."""


@dataclass(frozen=True)
class GroupQuestion:
    """A group to be assigned; names are not indices yet.

    topics, members : rows (see ``rows.TOPIC``, ``rows.MEMBER``), each well-formed
    group_protocol, assignor, kafka_version : default: ``classic``, the protocol's own default, and the newest
    client, client_version : the library of the group's leader, and its release; default: Java's, and the newest compared
    balance_racks : has franz-go's leader the option ``BalanceRacks``?
    group_id : what the group is called in metrics
    expected : assignments to compare with: ``[{member_id, partitions: [{topic_name, partition_ids}]}]``
    counts : combinations of partition counts by topic name, any of which the leader may have seen; without ``expected`` one
    compare : other assignors, as rows with any of VARIED, to be set beside the one asked for
    price_per_gb : of traffic between zones; None: not known
    min_partitions, max_records_per_partition : Spark's options, by which ``spark:kafka-source`` divides the ``lag``
    random_seed : of what a library leaves to chance; default: 0
    max_moves : how many partitions may move, for ``balanced``; None: as many as the best balance takes
    frontier : whether to tell what fewer moves achieve
    moves : whether to list each partition that moves; None: if they are few
    explain : whether to tell how the assignor decided
    """

    topics: pa.StructArray
    members: pa.StructArray
    group_protocol: str | None = None
    assignor: str | None = None
    kafka_version: str | None = None
    client: str | None = None
    client_version: str | None = None
    balance_racks: bool | None = None
    group_id: str | None = None
    expected: list[dict[str, Any]] | None = None
    counts: tuple[dict[str, int], ...] = ({},)
    compare: Sequence[Mapping[str, Any]] = ()
    price_per_gb: float | None = None
    min_partitions: int | None = None
    max_records_per_partition: int | None = None
    random_seed: int | None = None
    max_moves: int | None = None
    frontier: bool = False
    moves: bool | None = None
    explain: bool = False

    @property
    def protocol(self) -> str:
        """The group protocol."""
        return self.group_protocol or "classic"

    @property
    def version(self) -> str:
        """The release of Kafka."""
        return self.kafka_version or LATEST


def of_rows(topics: Sequence[Mapping[str, Any]], members: Sequence[Mapping[str, Any]], **rest: Any) -> GroupQuestion:
    """The question of rows as a description has them. rest : its other fields. Raises InvalidQuestion"""
    return GroupQuestion(_rows("topics", topics, TOPIC, plain_topics), _rows("members", members, MEMBER, plain_members), **rest)


def _rows(
    field: str, rows: Sequence[Mapping[str, Any]], kind: pa.DataType, is_plain: Callable[[pa.StructArray], bool]
) -> pa.StructArray:
    try:
        array = pa.array(rows, kind)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError) as error:
        raise InvalidQuestion(f"Not well-formed: {error}", field) from None
    if array.null_count or not is_plain(array):
        raise InvalidQuestion("A row is not well-formed.", field)
    return array


def check(question: GroupQuestion, budget: Budget) -> Assignor:
    """The assignor of a question. Raises InvalidQuestion with all faults between its rows, LimitExceeded; reserves memory."""
    raise_all(_faults(question))
    largest = with_counts(question.topics, largest_counts(question.topics, question.counts))
    members, partitions = len(question.members), partitions_total(largest)
    subscriptions = subscriptions_total(question.topics, question.members)
    budget.check("max_partitions", partitions, "partitions", "topics")
    budget.check("max_assignment_cells", partitions * members, "partitions × members")
    budget.check("max_subscriptions", subscriptions, "subscriptions of members to topics", "members")
    names = topic_names_bytes(question.topics, question.members) + names_bytes(question.members.field("member_id"))
    others = variations(question)
    if others:
        what = "partitions × members × assignors"
        budget.check("max_assignment_cells", partitions * members * (1 + len(others)), what, "compare")
        budget.lengthen()
        # One after the other: each leaves its loads only.
        memory = max(_bytes_of(each, partitions, subscriptions) for each in others)
        budget.reserve(names + memory + LOAD_BYTES * members * len(others))
    budget.reserve(names + _bytes_of(question, partitions, subscriptions))
    return strategy(question)


def _bytes_of(question: GroupQuestion, partitions: int, subscriptions: int) -> int:
    """The memory of an assignment besides that of names."""
    members = len(question.members)
    claims = len(question.members.field("owned_partitions").values.field("partition_ids").values)
    named = question.members.field("topic_names")
    again = 0 if question.protocol != "share" else members if named.null_count == members else subscriptions
    return (
        PARTITION_BYTES * partitions
        + SHARED_BYTES * again
        + SUBSCRIPTION_BYTES * subscriptions
        + CLAIM_BYTES * claims
        + TRAFFIC_BYTES * len(question.topics.field("partition_racks").values.values)
    )


def variations(question: GroupQuestion) -> tuple[GroupQuestion, ...]:
    """The same question for each assignor of ``compare``; a client's is a classic one."""
    varied = []
    for row in question.compare:
        given: dict[str, Any] = {**UNVARIED, **{name: row.get(name) for name in VARIED}}
        given["group_protocol"] = given["group_protocol"] or ("classic" if given["client"] else question.protocol)
        given["kafka_version"] = given["kafka_version"] or question.kafka_version
        varied.append(replace(question, **given))
    return tuple(varied)


def strategy(question: GroupQuestion) -> Assignor:
    """The assignor, as the release has it. Raises UnknownStrategy, which says where else there is one of that name."""
    protocol, name, seed = question.protocol, question.assignor, question.random_seed or 0
    if protocol not in GROUP_PROTOCOLS:
        raise UnknownStrategy("group_protocol", protocol, (*GROUP_PROTOCOLS, *TASK_PROTOCOLS))
    if question.client is not None:
        name = of_client(protocol, question.client, name)
    if name is None:
        return _released(GROUP_PROTOCOLS[protocol].builtins[0], question).drawn(seed)
    try:
        return _released(GROUP_PROTOCOLS[protocol][name], question).drawn(seed)
    except UnknownStrategy as error:
        elsewhere = [other for other, registry in GROUP_PROTOCOLS.items() if name in registry.names()]
        if elsewhere:
            error.detail = (
                f"There is no assignor {name!r} in the {protocol} protocol; it needs group_protocol: {' or '.join(elsewhere)}."
            )
            if protocol == "share" and name == BALANCED.name:
                error.detail += f" {NOT_BALANCED}"
            error.args = (error.detail,)
        raise


def _released(assignor: Assignor, question: GroupQuestion) -> Assignor:
    """The assignor as the releases and the options of the question have it. Raises InvalidQuestion for what it has not."""
    released = assignor.of_release(question.version, question.client_version)
    if question.max_moves is not None:
        if not released.limits_moves:
            raise InvalidQuestion(f"{assignor.name} cannot limit moves; balanced can.", "max_moves")
        released = replace(released, run=partial(released.run, max_moves=question.max_moves))
    dividing = {"min_partitions": question.min_partitions, "max_records": question.max_records_per_partition}
    if released.divides:
        released = replace(released, run=partial(released.run, **dividing))
    elif any(value is not None for value in dividing.values()):
        named = "min_partitions" if question.min_partitions is not None else "max_records_per_partition"
        raise InvalidQuestion(f"{assignor.name} divides no partitions; spark:kafka-source does.", named)
    if question.frontier and released.frontier is None:
        raise InvalidQuestion(f"{assignor.name} has no frontier; balanced has.", "assignor")
    if not question.balance_racks:
        return released
    if released.on_racks is None:
        raise InvalidQuestion(f"{assignor.name} has no such option.", "balance_racks")
    return replace(released, run=released.on_racks)


def _faults(question: GroupQuestion) -> Iterator[InvalidQuestion]:
    yield from faults_of(lambda: strategy(question))
    for i, variation in enumerate(variations(question)):
        for fault in faults_of(partial(strategy, variation)):
            yield InvalidQuestion(fault.detail, "compare", i, *fault.field)
    yield from topic_faults(question.topics)
    yield from member_faults(question.members)
    yield from expected_faults(question.members, question.expected or [])


@dataclass(frozen=True)
class Settled:
    """A group once it is at rest: after the second rebalance, where a cooperative assignor needs one.

    counts : int32[members], the partitions of each
    weighted_load : float64[members], the weight of each member's partitions; None without weights
    movement : from what members owned before the first rebalance
    fewest_possible_moves, certificate : of the first rebalance
    traffic : None without racks
    """

    counts: Int32s
    weighted_load: Float64s | None
    movement: Movement
    fewest_possible_moves: int | None
    certificate: Certificate | None
    traffic: ZoneTraffic | None

    @classmethod
    def of(cls, group: Group, first: Rebalance, second: Rebalance | None) -> Self:
        """The group after one rebalance or two."""
        rows: Ragged = final_rows((second or first).assignment)
        owners = transposed(rows, group.total_partitions)
        weights = group.topics.weights
        return cls(
            rows.lengths(),
            None if weights is None else weighted_load(rows, weights),
            movement(group, owners),
            first.fewest_possible_moves,
            first.assignment.certificate,
            zone_traffic(group, owners),
        )


@dataclass(frozen=True)
class Alternative:
    """Another assignor. settled : None if it cannot assign the group, as ``failure`` says"""

    question: GroupQuestion
    assignor: Assignor
    settled: Settled | None = None
    failure: AllocatorError | None = None


def costs(its: Settled, asked: Settled) -> dict[str, float | None]:
    """What an assignor costs beside the one that is asked for.

    largest_load : by how much it is above that one's, as a share of it: of the weights, where partitions have some
    moves : partitions that move only under it; local_share : share that is read on the own rack only under the one asked for
    """
    loads = (each.counts if each.weighted_load is None else each.weighted_load for each in (its, asked))
    most, least = (float(each.max(initial=0)) for each in loads)
    ours, theirs = (None if each.traffic is None else each.traffic.local_share for each in (asked, its))
    return {
        "largest_load": most / least - 1 if least else None,
        "moves": its.movement.moved - asked.movement.moved,
        "local_share": None if ours is None or theirs is None else ours - theirs,
    }


def alternatives(question: GroupQuestion, group: Group) -> tuple[Alternative, ...]:
    """The group under each assignor of ``compare``. Raises what the budget raises."""
    return tuple(_alternative(variation, group, strategy(variation)) for variation in looking(variations(question), 1))


def _alternative(variation: GroupQuestion, group: Group, assignor: Assignor) -> Alternative:
    try:
        first = rebalance(group, assignor)
        second = follow_up(group, first, assignor)[1] if first.assignment.follow_up_rebalance else None
    except LimitExceeded:
        raise
    except (KafkaError, PluginError, InvalidQuestion) as failure:
        return Alternative(variation, assignor, failure=failure)
    return Alternative(variation, assignor, Settled.of(group, first, second))
