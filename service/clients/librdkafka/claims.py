"""What the members of a group claim, as librdkafka's cooperative-sticky takes it, and the order of its partitions.

Source: prepopulateCurrentAssignments, sortPartitions in rdkafka_sticky_assignor.c (librdkafka 1.9.2, 2.12.1).
Tested against tests/reference/clients/librdkafka_sticky.py.
"""

from typing import NamedTuple

import numpy as np

from service.core.assignors.classic.sticky.fullest import from_the_fullest
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


def claims(claimants: Ragged, generations: Int32s) -> Claimants:
    """The claims since 2.2.0. claimants : Ragged partition → members, ascending; generations : int32[members]"""
    partitions, members = claimants.row_of_each_value(), claimants.values
    order = np.lexsort((generations[members], partitions))
    by_generation, of_claims = members[order], generations[members[order]]
    follows = partitions[1:] == partitions[:-1]  # the claim before it, which is one to the same partition
    holders, previous, owners, last = (np.full(len(claimants), NONE, np.int32) for _ in range(4))
    last[partitions] = members  # of several, the one that is written last stays
    owners[partitions] = members
    holders[partitions] = by_generation
    previous[partitions[1:][follows]] = by_generation[:-1][follows]
    contested = partitions[1:][follows & (of_claims[1:] == of_claims[:-1])]
    for array in (holders, previous, owners):
        array[contested] = NONE
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
