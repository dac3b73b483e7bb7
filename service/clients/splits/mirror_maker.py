"""MirrorMaker 2: the tasks of its source connector.

The connector describes the topics that it replicates, and goes through them as a HashMap gives them; the partitions of each
follow one another, and all are dealt to the tasks in turn. Connect then assigns the tasks to its workers.

Source: org.apache.kafka.connect.mirror.MirrorSourceConnector.findSourceTopicPartitions and taskConfigs;
org.apache.kafka.clients.admin.DescribeTopicsResult.allTopicNames.
"""

import numpy as np

from service.clients.splits.readers import dealt, partitions_of
from service.core.jvm.hashing import java_hash_codes
from service.core.jvm.ordering import iteration_order
from service.core.model import Assignment, Group, ranks_of


def assign(group: Group) -> Assignment:
    """Ragged member → partitions, ascending."""
    topics, ids, hashes = partitions_of(group)
    places = ranks_of(iteration_order(hashes, capacity=len(hashes)))
    return dealt(ranks_of(np.lexsort((ids, places[topics]))), group)


def warnings(group: Group) -> list[str]:
    """Topics in one slot of the HashMap: their order there is that in which they came, which is taken for that of their names."""
    hashes = java_hash_codes(group.topics.names)
    length = 1 << max(len(hashes) - 1, 0).bit_length()
    length *= 2 if len(hashes) > length * 3 // 4 else 1
    slots = (hashes ^ (hashes.view(np.uint32) >> np.uint32(16)).view(np.int32)) & np.int32(length - 1)
    if len(np.unique(slots)) == len(slots):
        return []
    return ["Some topics share a slot of MirrorMaker's HashMap. Their order there is assumed to be by name, a guess."]
