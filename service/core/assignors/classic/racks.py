"""When rack awareness (KIP-881) comes into play: the rule that range and both sticky assignors share."""

from dataclasses import replace

import numpy as np

from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Bools, Group, Int32s


def without_racks(group: Group) -> Group:
    """The group as leaders up to Kafka 3.4 see it."""
    return replace(group, topics=replace(group.topics, racks=None), racks=np.full(len(group), NONE, np.int32))


@inner_kernel
def on_rack(racks_of: Int32s, racks: Int32s, partition: int, rack: int) -> bool:
    """Has the partition a replica on the rack?

    racks_of, racks : int32[partitions + 1], int32[...]   partition → racks of its replicas
    """
    for i in range(racks_of[partition], racks_of[partition + 1]):  # noqa: SIM110 (a kernel)
        if racks[i] == rack:
            return True
    return False


@kernel
def racks_matter(consumer_racks: Bools, first: int, stop: int, racks_of: Int32s, racks: Int32s) -> bool:
    """Is there something to gain from racks for the partitions ``first`` … ``stop - 1``?

    consumer_racks : bool[racks]   the racks of the consumers concerned
    racks_of, racks : int32[partitions + 1], int32[...]   partition → racks of its replicas, none twice

    Yes if some consumer is on the rack of some replica, and some partition is not on all the racks that occur.
    Reproduces AbstractPartitionAssignor.useRackAwareAssignment.
    """
    occurs = np.zeros(len(consumer_racks), np.bool_)
    union = 0
    shared = False
    for i in range(racks_of[first], racks_of[stop]):
        rack = racks[i]
        if not occurs[rack]:
            occurs[rack] = True
            union += 1
            shared |= consumer_racks[rack]
    if not shared:
        return False
    for partition in range(first, stop):  # noqa: SIM110 (a kernel)
        if racks_of[partition + 1] - racks_of[partition] != union:
            return True
    return False
