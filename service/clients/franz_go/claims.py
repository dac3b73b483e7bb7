"""What the members of a group claim, as franz-go's sticky balancers take it, and what they withhold.

Source: parseMemberMetadata, dropUnwantedPartitions in sticky.go, AdjustCooperative in group_balancer.go (franz-go 1.22.2).
Plain-Python twin: tests/reference/clients/franz_go.py.
"""

import numpy as np

from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Int32s


@kernel
def claimed(
    order: Int32s,
    owned_of: Int32s,
    owned: Int32s,
    generations: Int32s,
    topic_of: Int32s,
    subscribers_of: Int32s,
    subscribers: Int32s,
) -> tuple[Int32s, Int32s]:
    """Who has each partition at first, and, if two claim it, who does under an older generation, or as the second.

    order : int32[members]               the member at each position
    owned_of, owned : member → partitions that it claims, existing or not
    generations : int32[members]         one below 0 counts as 0
    topic_of : int32[partitions]
    subscribers_of, subscribers : topic → positions of its subscribers, ascending

    Returns positions, or NONE, int32[partitions] each: only of members that subscribe to the partition's topic.
    """
    partitions = len(topic_of)
    newest, older = np.full(partitions, NONE, np.int32), np.full(partitions, NONE, np.int32)
    newest_generation, older_generation = np.full(partitions, NONE, np.int32), np.full(partitions, NONE, np.int32)
    for position in range(len(order)):
        member = order[position]
        generation = max(generations[member], 0)
        for partition in owned[owned_of[member] : owned_of[member + 1]]:
            if partition >= partitions:
                continue
            if generation > newest_generation[partition]:
                older[partition], older_generation[partition] = newest[partition], newest_generation[partition]
                newest[partition], newest_generation[partition] = position, generation
            elif generation > older_generation[partition]:
                older[partition], older_generation[partition] = position, generation
    for partition in range(partitions):
        topic = topic_of[partition]
        members = subscribers[subscribers_of[topic] : subscribers_of[topic + 1]]
        if newest[partition] != NONE and not _among(members, newest[partition], len(order)):
            newest[partition] = NONE
        if older[partition] != NONE and not _among(members, older[partition], len(order)):
            older[partition] = NONE
    return newest, older


@inner_kernel
def _among(members: Int32s, member: int, members_count: int) -> bool:
    """Is the member among these, which ascend?"""
    if len(members) == members_count:
        return True
    place = np.searchsorted(members, np.int32(member))
    return bool(place < len(members) and members[place] == member)


@kernel
def parted(owners: Int32s, owned_of: Int32s, owned: Int32s, generations: Int32s) -> tuple[Int32s, Int32s]:
    """Who gets each partition now, and who once others have revoked it: int32[partitions] each, or NONE (AdjustCooperative).

    owners : int32[partitions]           who is to have each; below 0: no member, or unknown
    owned_of, owned : member → partitions that it claims, existing or not
    generations : int32[members]

    A partition is withheld if somebody else claims it, unless its new owner claims it under no older generation than anybody.
    """
    newest = np.full(len(owners), np.iinfo(np.int32).min, np.int32)
    by_owner = np.full(len(owners), np.iinfo(np.int32).min, np.int32)
    by_others = np.zeros(len(owners), np.bool_)
    for member in range(len(owned_of) - 1):
        for partition in owned[owned_of[member] : owned_of[member + 1]]:
            if partition < len(owners):
                newest[partition] = max(newest[partition], generations[member])
                if owners[partition] == member:
                    by_owner[partition] = generations[member]
                else:
                    by_others[partition] = True
    here, later = owners.copy(), np.full(len(owners), NONE, np.int32)
    for partition in range(len(owners)):
        if owners[partition] >= 0 and by_others[partition] and by_owner[partition] < newest[partition]:
            here[partition], later[partition] = NONE, owners[partition]
    return here, later
