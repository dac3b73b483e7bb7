"""What a classic group makes of its members: their order, and the assignor that they all support.

Source: org.apache.kafka.coordinator.group.classic.ClassicGroup.
"""

from collections import Counter

import numpy as np

from service.core.jvm.hashing import java_hash_codes
from service.core.jvm.ordering import DEFAULT_CAPACITY, iteration_order
from service.core.model import Int32s, distinct, ranks_of
from service.planner.timelines.members import Member, Members, Present


def hash_order(members: Members, present: Present, most_members: int) -> Int32s:
    """The numbers of the members as the coordinator's HashMap gives them: ClassicGroup.currentClassicGroupMembers.

    most_members : that the group has ever had, as a HashMap never shrinks
    """
    numbers, capacity = present.numbers(), DEFAULT_CAPACITY
    while most_members > capacity * 3 // 4:
        capacity *= 2
    hashes = members.columns.hash_code[numbers].astype(np.int32)
    ranks = None
    if len(distinct(hashes)) < len(hashes):
        ids = [members.ids[number] for number in numbers.tolist()]
        ranks = ranks_of(np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int32))
    return numbers[iteration_order(hashes, capacity=capacity, ranks=ranks)]


def is_supported(members: Members, present: Present, member: Member) -> bool:
    """Does a member support an assignor that all members support? Reproduces ClassicGroup.supportsProtocols."""
    if len(members.assignor_lists) == 1:
        return True
    codes = distinct(members.columns.assignors[present.numbers()]).tolist()
    lists = [{one.protocol_name for one in members.assignor_lists[code]} for code in codes]
    return any(all(one.protocol_name in names for names in lists) for one in member.assignors)


def selected(members: Members, present: Present) -> str:
    """The name of the assignor with the most votes among those that all members support: ClassicGroup.selectProtocol."""
    codes: list[int] = members.columns.assignors[present.numbers()].tolist()
    lists = [members.assignor_lists[code] for code in dict.fromkeys(codes)]
    if len(lists) == 1:
        return lists[0][0].protocol_name
    offered = {code: [one.protocol_name for one in members.assignor_lists[code]] for code in set(codes)}
    candidates = set.intersection(*map(set, offered.values()))
    firsts = {code: next(name for name in names if name in candidates) for code, names in offered.items()}
    votes = Counter(firsts[code] for code in codes)
    names = sorted(votes, key=lambda name: -votes[name])
    most = [name for name in names if votes[name] == votes[names[0]]]
    return most[int(iteration_order(java_hash_codes(most))[0])]
