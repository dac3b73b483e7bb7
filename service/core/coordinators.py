"""The partition of an internal topic, and so the broker, that coordinates an id.

::

    group id                            → __consumer_offsets     GroupCoordinatorService.partitionFor
    transactional id                    → __transaction_state    TransactionStateManager.partitionFor
    group id, topic id and partition    → __share_group_state    ShareCoordinatorService.partitionFor

All three are ``Utils.abs(id.hashCode()) % n``, where abs(MIN_VALUE) is 0.
"""

from dataclasses import dataclass
from typing import Final

from service.core.jvm.hashing import string_hash_code

DEFAULT_PARTITIONS_COUNT: Final = 50
"""Default of offsets.topic.num.partitions and of the settings of the other two topics."""


@dataclass(frozen=True)
class Coordinator:
    """The coordinator of an id.

    key : the string that is hashed
    hash_code : its String.hashCode()
    positive : Utils.abs of the hash code
    """

    topic_name: str
    partition_id: int
    key: str
    hash_code: int
    positive: int


def of_group(group_id: str, partitions_count: int = DEFAULT_PARTITIONS_COUNT) -> Coordinator:
    """The coordinator of a consumer, share or streams group."""
    return _coordinator("__consumer_offsets", group_id, partitions_count)


def of_transaction(transactional_id: str, partitions_count: int = DEFAULT_PARTITIONS_COUNT) -> Coordinator:
    """The coordinator of a transactional producer."""
    return _coordinator("__transaction_state", transactional_id, partitions_count)


def of_share_partition(
    group_id: str, topic_id: str, partition: int, partitions_count: int = DEFAULT_PARTITIONS_COUNT
) -> Coordinator:
    """The coordinator of a share group's state of one partition.

    topic_id : Kafka's Uuid as text, 22 characters of URL-safe base64
    """
    return _coordinator("__share_group_state", f"{group_id}:{topic_id}:{partition}", partitions_count)


def _coordinator(topic_name: str, key: str, partitions_count: int) -> Coordinator:
    hash_code = string_hash_code(key)
    positive = 0 if hash_code == -(2**31) else abs(hash_code)
    return Coordinator(topic_name, positive % partitions_count, key, hash_code, positive)
