"""The movement records give back the partition that java.util.HashSet would."""

from __future__ import annotations

import random

import numpy as np
import pytest

from service.core.assignors.classic.sticky.movements import alike, copied, first_of, move, no_movements, opposite
from service.core.jvm.hashing import java_hash_codes, topic_partition_hash_codes
from service.core.jvm.ordering import TREED
from service.core.model import NONE
from tests.support.jvm import kafka_jvm

MEMBERS = 3


class JavaMovements:
    """PartitionMovements with its sets on the JVM."""

    def __init__(self, java, topic):
        self.java, self.topic = java, topic
        self.sets, self.pairs = {}, {}

    def partition(self, partition_id):
        """A key."""
        return self.java.org.apache.kafka.common.TopicPartition(self.topic, partition_id)

    def to_move(self, partition_id, holder, to):
        """As getTheActualPartitionToBeMoved."""
        source = self.pairs.get(partition_id, (holder, None))[0]
        opposite = self.sets.get((to, source))
        return opposite.iterator().next().partition() if opposite else partition_id

    def move(self, partition_id, holder, to):
        """As movePartition."""
        source = holder
        if partition_id in self.pairs:
            pair = self.pairs.pop(partition_id)
            source = pair[0]
            self.sets[pair].remove(self.partition(partition_id))
            if not self.sets[pair]:
                del self.sets[pair]
        if source != to:
            self.pairs[partition_id] = (source, to)
            if (source, to) not in self.sets:
                self.sets[source, to] = self.java.java.util.HashSet()
            self.sets[source, to].add(self.partition(partition_id))


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "stride"), [(1, 1), (2, 3), (3, 16), (4, 64), (5, 64), (6, 1024)], ids=str)
def test_sends_back_the_partition_that_javas_set_gives_first(seed, stride):
    """Ids 64 apart fall into one bucket: beyond eight of them that is a red-black tree."""
    rng = random.Random(seed)
    ids = np.arange(40, dtype=np.int32) * stride
    movements = no_movements(topic_partition_hash_codes(np.repeat(java_hash_codes(("orders",)), len(ids)), ids))
    there = JavaMovements(kafka_jvm(), "orders")
    holders, trees = [0] * len(ids), False
    for _ in range(300):
        partition = rng.randrange(len(ids))
        to = rng.choice([member for member in range(MEMBERS) if member != holders[partition]])
        pair = opposite(movements, 0, partition, holders[partition], to)
        moved = partition if pair == NONE else first_of(movements, pair)
        assert int(ids[moved]) == there.to_move(int(ids[partition]), holders[partition], to)
        movements = move(movements, 0, moved, holders[moved], to)
        there.move(int(ids[moved]), holders[moved], to)
        holders[moved] = to
        trees |= bool(movements.buckets[: movements.used[1], TREED].any())
    assert trees == (stride == 64)


def test_a_copy_is_alike_until_something_moves_and_again_when_that_has_gone_there_and_back_twice():
    movements = no_movements(np.arange(100, dtype=np.int32))

    def there_and_back(movements):
        movements = move(movements, 0, 7, 0, 1)
        return move(movements, 0, 7, 1, 0)

    movements = there_and_back(movements)
    copy = copied(movements)
    assert alike(copy, movements)
    assert not alike(copy, move(movements, 0, 7, 0, 1))
    assert alike(copied(copy), copy)
    again = there_and_back(copied(copy))
    assert alike(copied(again), there_and_back(again))


def test_records_of_many_pairs_and_large_sets_find_room():
    partitions = 3_000
    movements = no_movements(np.arange(partitions, dtype=np.int32))
    for partition in range(partitions):
        movements = move(movements, partition % 700, partition, 0, 1 + partition % 5)
    for partition in range(partitions):
        movements = move(movements, partition % 700, partition, 1 + partition % 5, 0)
    assert (movements.pair_of == -1).all()
    for partition in range(partitions):
        movements = move(movements, 0, partition, 0, 1)
    pair = movements.pair_of[0]
    assert (movements.pair_of == pair).all()
    assert movements.pairs[pair].tolist()[:5] == [0, 0, 1, partitions, 4096]
