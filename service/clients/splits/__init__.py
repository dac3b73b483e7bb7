"""How readers that form no consumer group divide partitions: Flink, Spark, Beam, Druid, MirrorMaker 2. A formula each.

The members of such a "group" are the source's readers (subtasks, executors, splits, tasks), in the order of their numbers. All of
them read all topics, and nothing depends on what they had before.
"""

from typing import Final

from service.core.assignors.model import Assignor
from service.core.later import Later
from service.core.registry import Implementation

readers = Later("service.clients.splits.readers")
spark = Later("service.clients.splits.spark")
mirror_maker = Later("service.clients.splits.mirror_maker")

SPLITS: Final[tuple[Assignor, ...]] = (
    Assignor(
        name="flink:kafka-source",
        run=readers.flink,
        implementation=Implementation("flink", "3.4.0-1.20", "KafkaSourceEnumerator.getSplitOwner"),
        summary="Subtask i gets partition 0 of a topic by the topic's hash, and its successors the next partitions in turn.",
        is_default=True,
    ),
    Assignor(
        name="spark:kafka-source",
        run=spark.assign,
        implementation=Implementation("spark", "4.2.0", "KafkaOffsetRangeCalculator.getRanges"),
        summary=(
            "The executor that a partition prefers, by the hash of topic and partition, if it is free within "
            "spark.locality.wait; with `lag` the ranges of offsets that tasks read, divided by `min_partitions` and "
            "`max_records_per_partition`."
        ),
        divides=True,
    ),
    Assignor(
        name="beam:kafka-io",
        run=readers.beam,
        implementation=Implementation("beam", "2.69.0", "KafkaUnboundedSource.split"),
        summary="All partitions, by topic and number, are dealt to the splits in turn.",
    ),
    Assignor(
        name="druid:kafka",
        run=readers.druid,
        implementation=Implementation("druid", "33.0.0", "KafkaSupervisor.getTaskGroupIdForPartition"),
        summary="Partition i of one topic goes to task i mod n; of several topics, each by the hash of topic and partition.",
    ),
    Assignor(
        name="mirror-maker:source",
        run=mirror_maker.assign,
        implementation=Implementation("mirror-maker", "4.3.1", "MirrorSourceConnector.taskConfigs"),
        summary="All partitions, topic by topic in the order of a HashMap, are dealt to the tasks in turn.",
        warnings=mirror_maker.warnings,
    ),
)
"""Those of the protocol ``splits``."""
