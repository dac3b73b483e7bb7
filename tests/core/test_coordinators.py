"""Group, transactional and share ids find the coordinator that Kafka would give them."""

from __future__ import annotations

from service.core import coordinators
from tests.support import golden


@golden.each("partitions/coordinators")
def test_an_id_is_coordinated_where_kafka_says(case):
    request, expected = dict(case["request"]), case["expected"]
    count = request["partitions_count"]
    if "group_id" in request:
        coordinator = coordinators.of_group(request["group_id"], count)
    elif "transactional_id" in request:
        coordinator = coordinators.of_transaction(request["transactional_id"], count)
    else:
        coordinator = coordinators.of_share_partition(**request["share_partition"], partitions_count=count)
    assert (coordinator.topic_name, coordinator.partition_id) == (expected["topic_name"], expected["partition_id"])
    assert coordinator.key == expected.get("coordinator_key", coordinator.key)


def test_there_are_fifty_partitions_unless_told_otherwise():
    assert coordinators.of_group("orders") == coordinators.of_group("orders", 50)


def test_the_smallest_hash_code_counts_as_zero():
    # "polygenelubricants".hashCode() is Integer.MIN_VALUE, whose mask would be 0 too, but whose absolute value is 2^31.
    coordinator = coordinators.of_group("polygenelubricants", 7)
    assert (coordinator.hash_code, coordinator.positive, coordinator.partition_id) == (-(2**31), 0, 0)
