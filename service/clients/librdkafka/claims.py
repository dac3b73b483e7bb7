"""What the members of a group claim, as librdkafka's cooperative-sticky takes it, and the order of its partitions.

Source: prepopulateCurrentAssignments, sortPartitions in rdkafka_sticky_assignor.c (librdkafka 1.9.2, 2.12.1).
Plain-Python twin: tests/reference/clients/librdkafka_sticky.py.
"""

from typing import NamedTuple

import numpy as np

from service.core.assignors.classic.sticky.fullest import from_the_fullest
from service.core.kernels import kernel
from service.core.model import NONE, Int32s, Ragged


class Claimants(NamedTuple):
    """Who claims each partition, existing or not: int32[partitions] each, NONE for no member.

    holders : the member that has it; no member if two claim it under one generation
    previous : the member that claims it under the next older generation
    owners : the last in the members' order that claims it, whom librdkafka takes for its owner; no member as with ``holders``
    last : the last that claims it
    """

    holders: Int32s
    previous: Int32s
    owners: Int32s
    last: Int32s


@kernel
def claims(claimants_of: Int32s, claimants: Int32s, generations: Int32s) -> Claimants:
    """The claims since 2.2.0. claimants_of, claimants : partition → members, ascending; generations : int32[members]"""
    count = len(claimants_of) - 1
    holders, previous = np.full(count, NONE, np.int32), np.full(count, NONE, np.int32)
    owners, last = np.full(count, NONE, np.int32), np.full(count, NONE, np.int32)
    for partition in range(count):
        members = claimants[claimants_of[partition] : claimants_of[partition + 1]]
        if len(members) == 0:
            continue
        last[partition] = members[-1]
        if len(members) == 1:
            holders[partition] = owners[partition] = members[0]
            continue
        by_generation = members[np.argsort(generations[members])]
        contested = False
        for i in range(1, len(members)):
            contested |= generations[by_generation[i - 1]] == generations[by_generation[i]]
        if not contested:
            holders[partition], previous[partition] = by_generation[-1], by_generation[-2]
            owners[partition] = members[-1]
    return Claimants(holders, previous, owners, last)


def claims_without_generations(claimants: Ragged) -> Claimants:
    """The claims up to 2.1.1, where the first has the partition and the second is the one of old. Arguments as ``claims``."""
    starts, stops = claimants.offsets[:-1], claimants.offsets[1:]
    values = np.append(claimants.values, np.int32(NONE))
    holders, last = (np.where(starts < stops, values[at], np.int32(NONE)) for at in (starts, stops - 1))
    return Claimants(
        holders, np.where(starts + 1 < stops, values[np.minimum(starts + 1, stops)], np.int32(NONE)), last.copy(), last
    )


def owned_first(holders: Int32s, previous: Int32s, id_rank: Int32s, listed: Int32s) -> Int32s:
    """All partitions in the order in which they are considered if all members subscribe to the same topics: int32[...].

    holders, previous : int32[partitions]
    id_rank : int32[members]
    listed : int32[...]   the partitions, topics as in the metadata

    Again and again the member that has most, of equals the last by member_id, gives one: first those that had another holder.
    What no member has comes last, in the reverse of the metadata's order; by topic and id if no member has anything.
    """
    held, moved = holders != NONE, previous != NONE
    had = np.concatenate([np.flatnonzero(held & moved), np.flatnonzero(held & ~moved)]).astype(np.int32)
    free = listed[~held[listed]][::-1]
    if not len(had):
        return np.sort(free)
    return np.concatenate([had[from_the_fullest(holders[had], id_rank)], free])
