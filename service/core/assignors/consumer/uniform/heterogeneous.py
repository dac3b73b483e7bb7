"""The uniform assignor where members subscribe to different topics.

*Goals*: members' counts as even as their subscriptions allow; then, that few partitions change hands.

*Algorithm*: members are numbered in their order, and ties go by number.

1. Each member keeps what it has of the topics that it subscribes to.
2. Topics in order of partitions per subscriber (most first), subscribers (fewest first), topic id: the partitions no member has,
   ids ascending, go to the subscribers with the fewest partitions, as water fills a vessel with steps: each of the lowest level
   gets one, then those whose level has now been reached join in.
3. Topics in that order, time and again, at most 16 rounds, until none has moved anything since it was last looked at: partitions
   go one by one from the most loaded subscribers that have any to the least loaded ones, while those are more than one apart.

Example: A subscribes to t, B to t and u; t has 2 partitions, u has 3: u-0, u-1 and u-2 go to B, then t-0 and t-1 to A.

Source: org.apache.kafka.coordinator.group.assignor.UniformHeterogeneousAssignmentBuilder (every release
since 4.0.0).
"""

from typing import Any, Final

import numpy as np

from service.core.assignors.classic.members import topic_subscribers
from service.core.assignors.coordinator import TopicArrays, member_order, partition_beyond_the_end, topic_arrays
from service.core.errors import InvalidQuestion, KafkaAssignorFails
from service.core.jvm.ordering import capacity_for_set, iteration_order
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Assignment, Group, Int32s, Ragged
from service.core.ragged import grouped, grouped_arrays, repeats

ROUNDS: Final = 16
"""UniformHeterogeneousAssignmentBuilder.MAX_ITERATION_COUNT"""


def assign(group: Group) -> Assignment:
    """Ragged member → partitions, ascending.

    Raises KafkaAssignorFails where a member owns a partition of a topic of its that does not exist, and InvalidQuestion where two
    members own the same partition of topics of theirs: no coordinator could get there, and Kafka would assign it twice.
    """
    return Assignment(_assigned(group)[0])


def explain(group: Group, assignment: Assignment, limit: int) -> dict[str, Any]:
    """The members in order, the topics in order, and what each phase moved. ``limit`` bounds the entries of each list."""
    _, order, in_order, subscribers, kept, filled, moves = _assigned(group)
    counts, loads, owned = group.topics.partitions_counts(), assignment.rows.lengths(), group.owned
    had = owned.values[~repeats(owned.row_of_each_value(), owned.values)]
    return {
        "algorithm": "heterogeneous",
        "because": "members subscribe to different topics",
        "phases": [
            {
                "phase": "keep what is still subscribed",
                "kept": kept,
                "revoked": int((had < group.topics.partitions_count).sum()) - kept,
            },
            {"phase": "assign unowned partitions to the least loaded subscribers", "assigned": filled},
            {
                "phase": "move partitions from the most to the least loaded subscribers of each topic",
                "rounds": len(moves),
                "moved_in_round": moves.tolist(),
            },
        ],
        "order_rule": "the coordinator's TimelineHashMap of member ids, read into a HashMap; ties go to the first",
        "order": [{"member_id": group.member_ids[member], "partitions": int(loads[member])} for member in order[:limit]],
        "topics_rule": "most partitions per subscriber, then fewest subscribers, then topic id",
        "topics": [
            {
                "topic_name": group.topics.names[topic],
                "partitions_count": int(counts[topic]),
                "subscribers_count": len(subscribers.row(topic)),
                "fewest": int(loads[order[subscribers.row(topic)]].min()),
                "most": int(loads[order[subscribers.row(topic)]].max()),
            }
            for topic in in_order[:limit].tolist()
        ],
    }


def _assigned(group: Group) -> tuple[Ragged, Int32s, Int32s, Ragged, int, int, Int32s]:
    """The assignment; the members in order; the topics in order; topic → positions of its subscribers; kept, filled, moves."""
    topics = group.topics
    table = topic_arrays(topics)
    order = member_order(group)
    subscribers = topic_subscribers(group, order)
    counts, lengths = topics.partitions_counts(), subscribers.lengths()
    with np.errstate(divide="ignore", invalid="ignore"):
        in_order = np.lexsort((table.ranks, lengths, -(counts / lengths))).astype(np.int32)
    in_order = in_order[lengths[in_order] > 0]
    _refuse_beyond_the_end(group, order, table)
    owners, loads, duplicate = _kept(
        order, topics.first, table.topic_of,
        group.subscriptions.offsets, group.subscriptions.values, group.owned.offsets, group.owned.values,
    )  # fmt: skip
    if duplicate != NONE:
        topic = int(table.topic_of[duplicate])
        raise InvalidQuestion(
            f"More than one member owns partition {duplicate - topics.first[topic]} of {topics.names[topic]!r}, which no target "
            "assignment of a consumer group allows.",
            "members",
        )
    kept = int(loads.sum())
    moves = _shared_out(loads, owners, in_order, topics.first, subscribers.offsets, subscribers.values)
    rows = grouped(np.where(owners == NONE, owners, order[owners]), len(group))
    return rows, order, in_order, subscribers, kept, len(rows.values) - kept, moves


def _refuse_beyond_the_end(group: Group, order: Int32s, table: TopicArrays) -> None:
    """Raise KafkaAssignorFails if a member owns a partition beyond the end of a topic that it subscribes to.

    Kafka fails at the first one: members in order, the topics of a member's target assignment as a HashMap iterates over them,
    the partition ids of a topic as a HashSet does.
    """
    if partition_beyond_the_end(group, np.ones(len(group.topics), np.bool_)) is None:
        return
    counts = group.topics.partitions_counts()
    for member in order.tolist():
        topics, partition_ids = group.topic_partitions(group.owned.row(member))
        subscribed = np.isin(topics, group.subscriptions.row(member)) & (topics < len(counts))
        topics, partition_ids = topics[subscribed], partition_ids[subscribed]
        if not (partition_ids >= counts[topics]).any():
            continue
        owned_topics = np.array(list(dict.fromkeys(topics.tolist())), np.int32)
        for topic in owned_topics[iteration_order(table.hashes[owned_topics], ranks=table.ranks[owned_topics])].tolist():
            of_topic = np.array(list(dict.fromkeys(partition_ids[topics == topic].tolist())), np.int32)
            in_set = of_topic[iteration_order(of_topic, capacity=capacity_for_set(len(of_topic)), ranks=of_topic)]
            beyond = in_set[in_set >= counts[topic]]
            if len(beyond):
                raise KafkaAssignorFails(
                    "java.lang.ArrayIndexOutOfBoundsException",
                    f"Index {beyond[0]} out of bounds for length {counts[topic]}",
                    cause=f"{group.member_ids[member]!r} owns partition {beyond[0]} of {group.topics.names[topic]!r}, which has "
                    f"{counts[topic]} (/members/{member}/owned_partitions)",
                    remedy="leave out of owned_partitions what does not exist",
                )


@kernel
def _kept(
    order: Int32s, first: Int32s, topic_of: Int32s, subscribed_of: Int32s, subscribed: Int32s, owned_of: Int32s, owned: Int32s
) -> tuple[Int32s, Int32s, int]:
    """Step 1: the number of each partition's owner, or NONE; what each member has; and a partition that two have, or NONE.

    order : int32[members]              the member of each number
    first : int32[topics + 1]           the first partition of each topic
    topic_of : int32[partitions]
    subscribed_of, subscribed : member → topics; those from ``len(first) - 1`` on do not exist
    owned_of, owned : member → partitions it has; those from ``first[-1]`` on do not exist
    Returns int32[partitions], int32[members], and the partition.
    """
    owners = np.full(first[-1], NONE, np.int32)
    loads = np.zeros(len(order), np.int32)
    subscribed_by = np.full(max(np.max(subscribed) + 1 if len(subscribed) else 0, len(first) - 1), NONE, np.int32)
    for number in range(len(order)):
        member = order[number]
        if owned_of[member] == owned_of[member + 1]:
            continue
        for i in range(subscribed_of[member], subscribed_of[member + 1]):
            subscribed_by[subscribed[i]] = number
        for i in range(owned_of[member], owned_of[member + 1]):
            partition = owned[i]
            if partition < first[-1] and subscribed_by[topic_of[partition]] == number and owners[partition] != number:
                if owners[partition] != NONE:
                    return owners, loads, partition
                owners[partition] = number
                loads[number] += 1
    return owners, loads, NONE


@kernel
def _shared_out(
    loads: Int32s, owners: Int32s, topics_in_order: Int32s, first: Int32s, subscribers_of: Int32s, subscribers: Int32s
) -> Int32s:
    """Steps 2 and 3; returns the moves of each round, int32[rounds].

    loads : int32[members]              what the member of each number has; written
    owners : int32[partitions]          the number of each partition's owner, or NONE; written
    topics_in_order : int32[...]        the topics that have subscribers
    first : int32[topics + 1]           the first partition of each topic
    subscribers_of, subscribers : topic → numbers of its subscribers, ascending

    Reproduces UniformHeterogeneousAssignmentBuilder.assignRemainingPartitions and balance. Plain-Python twin:
    tests/reference/server_assignors.py.
    """
    for topic in topics_in_order:
        _fill(loads, owners[first[topic] : first[topic + 1]], subscribers[subscribers_of[topic] : subscribers_of[topic + 1]])
    moves = np.zeros(ROUNDS, np.int32)
    range_of = np.empty(len(loads), np.int32)
    last_moved = NONE  # or the first topic looked at, while none has moved anything
    for turn in range(ROUNDS):
        for topic in topics_in_order:
            if subscribers_of[topic + 1] - subscribers_of[topic] < 2:
                continue
            if topic == last_moved:
                return moves[: turn + 1]
            moved = _balance(
                loads,
                owners[first[topic] : first[topic + 1]],
                subscribers[subscribers_of[topic] : subscribers_of[topic + 1]],
                range_of,
            )
            moves[turn] += moved
            if moved or last_moved == NONE:
                last_moved = topic
        if last_moved == NONE:
            return moves[:0]
    return moves


@inner_kernel
def _by_load(loads: Int32s, numbers: Int32s) -> Int32s:
    """The members ``numbers`` (ascending) by load, then number."""
    n = len(numbers)
    low = high = loads[numbers[0]]
    for number in numbers:
        low, high = min(low, loads[number]), max(high, loads[number])
    if low == high:
        return numbers.copy()
    if high - low > 2 * n + 64:
        keys = np.empty(n, np.int64)
        for i in range(n):
            keys[i] = (np.int64(loads[numbers[i]]) << 32) | numbers[i]
        keys.sort()
        return (keys & 0x7FFFFFFF).astype(np.int32)
    _, places = grouped_arrays(loads[numbers] - low, high - low + 1)
    return numbers[places]


@inner_kernel
def _fill(loads: Int32s, owner: Int32s, numbers: Int32s) -> None:
    """Give one topic's partitions that no member has to its subscribers.

    loads : int32[members]   written
    owner : int32[ids]       the number of each partition's owner, or NONE; written
    numbers : int32[...]     the subscribers, ascending

    Reproduces UniformHeterogeneousAssignmentBuilder.assignRemainingPartitions and MemberAssignmentBalancer.nextLeastLoadedMember.
    """
    ordered = numbers[:0]
    end = level = at = 0
    for partition_id in range(len(owner)):
        if owner[partition_id] != NONE:
            continue
        if len(ordered) == 0:
            ordered = _by_load(loads, numbers)
            level = loads[ordered[0]] - 1
        if at >= end:
            level += 1
            while end < len(ordered) and loads[ordered[end]] == level:
                end += 1
            at = 0
        owner[partition_id] = ordered[at]
        loads[ordered[at]] += 1
        at += 1


@inner_kernel
def _balance(loads: Int32s, owner: Int32s, numbers: Int32s, range_of: Int32s) -> int:  # noqa: C901, PLR0912 (a kernel)
    """Move one topic's partitions from its most to its least loaded subscribers; returns how many.

    loads, owner, numbers : as for ``_fill``; every partition has an owner
    range_of : int32[members]   scratch

    Reproduces UniformHeterogeneousAssignmentBuilder.balanceTopic and MemberAssignmentBalancer.
    """
    low = high = loads[numbers[0]]
    for number in numbers:
        low, high = min(low, loads[number]), max(high, loads[number])
    if high - low <= 1:
        return 0
    ordered = _by_load(loads, numbers)
    size = len(ordered)

    for i in range(size):
        range_of[numbers[i]] = i
    # The ids of each subscriber, ascending: those of number n are ids[start[i]:stop[i]], where i = range_of[n].
    start, ids = grouped_arrays(range_of[owner], size)
    stop = start[1:].copy()

    # ordered[:least_end] are at least_level; ordered[most_start:most_end] at most_level, those behind have nothing left to give.
    least_end, least_level, least_at = 0, low - 1, 0
    most_start, most_end, most_level, most_at = size, size, high + 1, size - 1
    moved = 0
    while most_level - least_level > 1:
        giver = NONE
        while True:
            if most_at < most_start:
                if most_end <= most_start and most_start > 0:
                    most_level = loads[ordered[most_start - 1]]
                else:
                    most_level -= 1
                while most_start > 0 and loads[ordered[most_start - 1]] == most_level:
                    most_start -= 1
                most_at = most_end - 1
            if most_at < 0:
                return moved
            giver = ordered[most_at]
            if stop[range_of[giver]] > start[range_of[giver]]:
                break
            most_end -= 1
            ordered[most_at], ordered[most_end] = ordered[most_end], ordered[most_at]
            most_at -= 1
        most_at -= 1
        stop[range_of[giver]] -= 1
        partition_id = ids[stop[range_of[giver]]]

        if least_at >= least_end:
            least_level += 1
            while least_end < size and loads[ordered[least_end]] == least_level:
                least_end += 1
            least_at = 0
        taker = ordered[least_at]
        least_at += 1
        if most_level - least_level <= 1:
            break
        owner[partition_id] = taker
        loads[giver] -= 1
        loads[taker] += 1
        moved += 1
    return moved
