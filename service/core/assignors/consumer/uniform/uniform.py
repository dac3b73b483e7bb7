"""The group coordinator's UniformAssignor, the default of consumer groups (KIP-848): as even as can be, then as few moves.

Where all members subscribe to the same topics, ``assign_alike`` answers, else heterogeneous.py. Racks play no part.

Source: org.apache.kafka.coordinator.group.assignor.UniformAssignor.
"""

from typing import Any

import numpy as np

from service.core.assignors.consumer.uniform import heterogeneous
from service.core.assignors.coordinator import (
    TopicArrays,
    changes,
    is_homogeneous,
    member_order,
    partition_beyond_the_end,
    target_order,
    topic_arrays,
    topic_order,
)
from service.core.errors import KafkaAssignorFails
from service.core.jvm.ordering import capacity_for_set, iteration_order
from service.core.kernels import kernel
from service.core.model import NONE, Assignment, Bools, Group, Int32s, Ragged, RaggedArrays
from service.core.ragged import put

# The uniform assignor where all members subscribe to the same topics.
#
# *Goals*: counts that differ by at most one; then, that as few partitions as possible change hands.
#
# *Algorithm*: of P partitions and M members each has a *quota* of ``P // M``, and ``P % M`` members one extra.
#
# 1. The partitions of the topics, in the order of a HashSet of topic ids, that no member has: they are *free*.
# 2. Each member in order keeps what it has as far as its quota goes, topic by topic in the order of a HashMap of topic ids, ids
#    in the order of a HashSet; what exceeds it goes to the end of the free ones. While extra partitions are left a member's
#    quota is one larger; a member that would have to be given its extra one leaves it to those to come, if they are more than
#    enough.
# 3. The members below their quota, in order, take the next free partitions.
#
# Up to Kafka 4.0.0 the first members in order got the extra partitions, whoever had them before (KAFKA-18688).
#
# Example: members A, B in that order, topic t of 3 partitions; B has t-0 and t-2: B keeps both, A gets t-1. In Kafka 4.0.0 B
# gave up t-2, since A as the first gets two.
#
# Source: org.apache.kafka.coordinator.group.assignor.UniformHomogeneousAssignmentBuilder.


def assign_alike(group: Group, *, extra_stays: bool = True) -> Assignment:
    """Ragged member → partitions, in no particular order.

    group : all members subscribe to the same names
    extra_stays : False for releases up to 4.0.0

    Raises KafkaAssignorFails where members own a partition twice, or one that does not exist.
    """
    topics = group.topics
    if len(group) == 0 or len(group.subscriptions.row(0)) == 0:
        return Assignment(Ragged(np.zeros(len(group) + 1, np.int32), np.empty(0, np.int32)))
    table = topic_arrays(topics)
    order = member_order(group)
    in_order = topic_order(group, int(order[0]))
    capacity = capacity_for_set(len(group.subscriptions.row(0)))
    in_order = in_order[iteration_order(table.hashes[in_order], capacity=capacity, ranks=table.ranks[in_order])]
    subscribed = np.zeros(len(topics), np.bool_)
    subscribed[in_order] = True
    beyond = partition_beyond_the_end(group, subscribed)
    if beyond is not None:
        member, topic, partition_id = beyond
        raise _left_over(
            f"{group.member_ids[member]!r} owns partition {partition_id} of {topics.names[topic]!r}, which has "
            f"{topics.partitions_counts()[topic]} (/members/{member}/owned_partitions)"
        )
    owned = group.owned.arrays()
    owners, duplicate, plain = _owners(order, subscribed, table, owned)
    if duplicate != NONE:
        topic = int(table.topic_of[duplicate])
        raise _left_over(
            f"more than one member owns partition {duplicate - topics.first[topic]} of {topics.names[topic]!r}, which no target "
            "assignment of a consumer group allows (/members)"
        )
    free = _free(in_order, topics.first, owners)
    kept_of, kept, shortfalls = _kept(order, table, owned, owners, free, extra_stays, plain)
    return Assignment(Ragged(*_filled(order, kept_of, kept, shortfalls, free)))


def _left_over(cause: str) -> KafkaAssignorFails:
    return KafkaAssignorFails(
        "org.apache.kafka.coordinator.group.api.assignor.PartitionAssignorException",
        "Partitions were left unassigned",
        cause=cause,
        remedy="list in owned_partitions each partition that exists with one member at most",
    )


def explain_alike(group: Group, assignment: Assignment, limit: int, *, extra_stays: bool = True) -> dict[str, Any]:
    """Quotas, and what each member in order kept, gave up and got. ``limit`` bounds the members listed."""
    existing = group.topics.partitions_counts()
    subscribed = group.subscriptions.row(0) if len(group) else np.empty(0, np.int32)
    total = int(existing[subscribed[subscribed < len(existing)]].sum())
    quota, extra = divmod(total, len(group)) if len(group) else (0, 0)
    members, kept_in_all, revoked_in_all = changes(group, assignment, limit)
    for entry in members:
        if entry["partitions"] > quota:
            entry["one_more_because"] = (
                "it is among the first in order"
                if not extra_stays
                else "it had more than the quota already, and keeps one"
                if entry["kept"] > quota
                else "no more members were left than extra partitions"
            )
    return {
        "algorithm": "homogeneous",
        "because": "all members subscribe to the same topics",
        "quota": quota,
        "members_with_one_more": extra,
        "phases": [
            {"phase": "revoke what is over the quota, or no longer subscribed", "revoked": revoked_in_all},
            {
                "phase": "assign what is free to the members below their quota",
                "assigned": len(assignment.rows.values) - kept_in_all,
            },
        ],
        "order_rule": "the coordinator's TimelineHashMap of member ids, read into a HashMap",
        "order": members,
    }


@kernel
def _owners(order: Int32s, subscribed: Bools, table: TopicArrays, owned: RaggedArrays) -> tuple[Int32s, int, bool]:
    """The position of the member that has each partition, or NONE: int32[partitions]; and a partition that two have, or NONE.

    And is it plain: does all that members have exist, count, and stand in their lists once?

    order : int32[members]              the member at each position
    subscribed : bool[topics]           partitions of other topics count as no member's
    owned : member → partitions it has; those from ``table.first[-1]`` on do not exist
    """
    existing = table.first[-1]
    owners = np.full(existing, NONE, np.int32)
    all_count, counting = subscribed.all(), 0
    for position in range(len(order)):
        member = order[position]
        for i in range(owned.offsets[member], owned.offsets[member + 1]):
            partition = owned.values[i]
            if partition < existing and (all_count or subscribed[table.topic_of[partition]]):
                if owners[partition] == NONE:
                    owners[partition] = position
                    counting += 1
                elif owners[partition] != position:
                    return owners, partition, False
    return owners, NONE, counting == len(owned.values)


@kernel
def _free(topics: Int32s, first: Int32s, owners: Int32s) -> Int32s:
    """The partitions of these topics that no member has, with room behind them (NONE) for all that somebody has.

    topics : int32[...]       the subscribed topics, in order
    first : int32[topics + 1]   the first partition of each topic
    owners : what ``_owners`` gives
    """
    total = 0
    for topic in topics:
        total += first[topic + 1] - first[topic]
    free = np.full(total, NONE, np.int32)
    end = 0
    for topic in topics:
        for partition in range(first[topic], first[topic + 1]):
            if owners[partition] == NONE:
                free[end] = partition
                end += 1
    return free


@kernel
def _kept(
    order: Int32s, table: TopicArrays, owned: RaggedArrays, owners: Int32s, free: Int32s,
    extra_stays: bool, plain: bool,  # noqa: FBT001
) -> tuple[Int32s, Int32s, Int32s]:  # fmt: skip
    """What the member at each position keeps (int32[members + 1] offsets, int32[...] partitions), and how many more it is to get.

    order, owned : as for ``_owners``
    owners, plain : what ``_owners`` gives; ``owners`` is overwritten
    free : what ``_free`` gives; what members give up is appended

    Reproduces UniformHomogeneousAssignmentBuilder.maybeRevokePartitions. Plain-Python twin: tests/reference/server_assignors.py.
    """
    members = len(order)
    end_of_free = 0
    while end_of_free < len(free) and free[end_of_free] != NONE:
        end_of_free += 1
    kept = np.empty(len(free), np.int32)
    kept_of = np.zeros(members + 1, np.int32)
    shortfalls = np.zeros(members, np.int32)
    place = np.full(len(table.hashes), NONE, np.int32)
    end = 0
    quota, extra = divmod(len(free), members)
    for position in range(members):
        start = end
        of_member = owned.values[owned.offsets[order[position]] : owned.offsets[order[position] + 1]]
        if plain:
            end = put(of_member, kept, start)
        else:
            for partition in of_member:
                if partition < len(owners) and owners[partition] == position:
                    owners[partition] = NONE  # so that a partition listed twice counts once
                    kept[end] = partition
                    end += 1
        has_extra = extra > 0
        room = quota + has_extra - (end - start)
        if room < 0:
            in_order = target_order(kept[start:end], table, place)
            end_of_free = put(in_order[room:], free, end_of_free)
            end = put(in_order[:room], kept, start)
            room = 0
        if extra_stays and room > 0 and has_extra and members - position > extra:
            room -= 1
            has_extra = False
        extra -= has_extra
        shortfalls[position] = room
        kept_of[position + 1] = end
    return kept_of, kept, shortfalls


@kernel
def _filled(order: Int32s, kept_of: Int32s, kept: Int32s, shortfalls: Int32s, free: Int32s) -> tuple[Int32s, Int32s]:
    """What each member gets, as offsets int32[members + 1] and partitions. Arguments as ``_kept`` gives them.

    Reproduces UniformHomogeneousAssignmentBuilder.assignRemainingPartitions.
    """
    members = len(order)
    offsets = np.zeros(members + 1, np.int32)
    for position in range(members):
        offsets[order[position] + 1] = kept_of[position + 1] - kept_of[position] + shortfalls[position]
    for member in range(members):
        offsets[member + 1] += offsets[member]
    assigned = np.empty(len(free), np.int32)
    next_free = 0
    for position in range(members):
        end = put(kept[kept_of[position] : kept_of[position + 1]], assigned, offsets[order[position]])
        put(free[next_free : next_free + shortfalls[position]], assigned, end)
        next_free += shortfalls[position]
    return offsets, assigned


def assign(group: Group, *, extra_stays: bool = True) -> Assignment:
    """Ragged member → partitions. Raises what the two cases raise.

    extra_stays : False: in a homogeneous group the first members in order get the extra partitions (4.0.0; KAFKA-18688)
    """
    return assign_alike(group, extra_stays=extra_stays) if is_homogeneous(group) else heterogeneous.assign(group)


def explain(group: Group, assignment: Assignment, limit: int, *, extra_stays: bool = True) -> dict[str, Any]:
    """Which algorithm was used and why, the order of the members, quotas, and what each phase moved."""
    if is_homogeneous(group):
        return explain_alike(group, assignment, limit, extra_stays=extra_stays)
    return heterogeneous.explain(group, assignment, limit)
