"""Who owns what so far: the state that the steps of the general sticky algorithm (sticky/general.py) share."""

from typing import NamedTuple

from service.core.kernels import kernel
from service.core.model import Bools, Int32s, Int64s


class State(NamedTuple):
    """The group, and who owns what so far.

    first : int32[topics + 1]             the first partition of each topic
    topics : int32[topics]                the topics in the assignor's order
    sequence : int32[...]                 the partitions in the assignor's order
    runs : int32[runs + 1]                partitions ``sequence[runs[i]:runs[i + 1]]`` have the same subscribers: those of a topic
    topic_of : int32[partitions]          each partition's topic
    subscribers_of, subscribers           topic → its subscribers, in the leader's order
    racks : int32[members]                each member's rack
    racks_of, partition_racks             partition → racks of its replicas
    places : int32[members]               the place of each member in the map of assignments
    possible : int32[members]             the number of partitions of each member's topics
    previous_owners : int32[partitions]   the member of an older generation that claims each partition, or NONE
    has_stale_claims : bool               may members own partitions that do not exist, of other topics, or of another member?
    tolerance : int                       the difference of two members' counts at which the group still counts as balanced

    free : bool[partitions]               was it unassigned after step 1?
    new_owners, duplicates : int32[partitions]   as in ``General`` (sticky/general.py)
    counts : int32[members]               the number of partitions of each member
    keys : int64[members]                 (count, rank by member_id) as one number: members in the assignor's order
    taking_part : bool[members]           False for members set aside
    """

    first: Int32s
    topics: Int32s
    sequence: Int32s
    runs: Int32s
    topic_of: Int32s
    subscribers_of: Int32s
    subscribers: Int32s
    racks: Int32s
    racks_of: Int32s
    partition_racks: Int32s
    places: Int32s
    possible: Int32s
    previous_owners: Int32s
    has_stale_claims: bool
    tolerance: int
    free: Bools
    new_owners: Int32s
    duplicates: Int32s
    counts: Int32s
    keys: Int64s
    taking_part: Bools


@kernel
def give(state: State, partition: int, member: int) -> None:
    """Give the partition to the member."""
    state.new_owners[partition] = member
    state.counts[member] += 1
    state.keys[member] += len(state.counts)
