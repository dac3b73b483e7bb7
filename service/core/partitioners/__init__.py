# ruff: noqa: E501 - one line a partitioner
"""Key → partition: the table of partitioners.

A line says what a client does with a key that it hashes (hash and sign rule), with a record that has no key (null rule) and with
an empty key, and which setting selects the partitioner. Each hash is in a module of its name, Java's own in hash_codes.py; the
sign rules are in hashing_rule.py, the rules for records without a key in nulls.py, counting.py and drawing.py. ``allocate`` runs one of
the partitioners.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from service.core.kafka_versions import LATEST
from service.core.keys import columns
from service.core.partitioners import counting, drawing, explicit, hashing_rule, plugins
from service.core.partitioners.allocation import allocate, by_hash, by_spark_hash, by_token, check_options, ignoring_keys
from service.core.partitioners.crc32 import CRC32
from service.core.partitioners.fnv1a import FNV1A
from service.core.partitioners.hash_codes import ARRAY, OBJECT, STRING
from service.core.partitioners.kafkajs_legacy import LEGACY
from service.core.partitioners.model import AS_NULL, HASHED, Answer, NullRule, Partitioner, Question
from service.core.partitioners.murmur2 import MURMUR2, MURMUR2_SEED_0
from service.core.partitioners.murmur3 import CASSANDRA, MURMUR3, SPARK
from service.core.partitioners.nulls import NO_NULL, SPARK_NULL, ZERO, as_empty
from service.core.registry import Implementation, Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.core.keys.columns import Encoding
    from service.core.partitioners.hashing_rule import Hash, Sign
    from service.core.partitioners.model import ExplicitRule

__all__ = ["PARTITIONERS", "Answer", "Partitioner", "Question", "allocate", "check_options"]


def _partitioner(
    name: str,
    client: tuple[str, str],
    symbol: str,
    setting: str,
    hash_: Hash | None,
    sign: Sign | None,
    null: NullRule,
    empty_key: str = HASHED,
    explicitly: ExplicitRule = explicit.CHECKED,
    *,
    encoding: Encoding = columns.SERIALIZED,
    run: Callable[[Question, Partitioner], Answer] | None = None,
    options: tuple[str, ...] = (),
    aliases: tuple[str, ...] = (),
) -> Partitioner:
    """One line of the table."""
    what = "Ignores keys" if hash_ is None else f"{hash_.name}, {sign.name if sign else 'as it is'}"
    return Partitioner(
        name=name,
        run=run or (ignoring_keys if hash_ is None else by_hash if sign is not None else by_token),
        summary=f"{what}; {'every record' if hash_ is None else 'no key'}: {null.rule}.",
        implementation=Implementation(*client, symbol),
        setting=setting,
        hash=hash_,
        sign=sign,
        null=null,
        empty_key="as any record" if hash_ is None else empty_key,
        explicit=explicitly,
        encoding=encoding,
        options=(*null.options, *options),
        aliases=aliases,
        used_by=_USED_BY.get(client, ""),
        notes=_NOTES.get(client, ""),
        in_use=client not in _OUT_OF_USE,
        writes_to_kafka=client not in _NOT_KAFKA,
    )


_JAVA, _JAVA_23, _JAVA_08, _SCALA = ("java", LATEST), ("java", "2.3.1"), ("java", "0.8.2.2"), ("scala", "0.8.2.2")
_STREAMS = ("kafka-streams", "4.3.1")
_RD, _SARAMA, _GO, _FRANZ = ("librdkafka", "2.16.0"), ("sarama", "v1.61.1"), ("kafka-go", "v0.4.51"), ("franz-go", "v1.22.2")
_JS, _PLATFORMATIC, _SINEK = ("kafkajs", "2.2.4"), ("@platformatic/kafka", "1.35.0"), ("node-sinek", "6.13.0")
_PYTHON, _AIO = ("kafka-python", "3.0.12"), ("aiokafka", "0.14.0")
_PULSAR, _SPARK, _CASSANDRA = ("pulsar-client", "4.2.4"), ("Spark", "4.2.0"), ("cassandra-all", "5.0.9")
_PRODUCER = "org.apache.kafka.clients.producer."
_CLASS, _P, _B, _R = "partitioner.class", "Producer.Partitioner", "Writer.Balancer", "RecordPartitioner"
_MASK, _UNSIGNED, _REM_NEG = hashing_rule.MASK, hashing_rule.UNSIGNED, hashing_rule.REM_NEG
_ABS0, _PMOD = hashing_rule.ABS0, hashing_rule.PMOD
_RR = counting.JAVA_ROUND_ROBIN
_XJ, _X08, _XJS = explicit.JAVA, explicit.JAVA_0_8, explicit.UNCHECKED
_KIP = "BuiltInPartitioner, KIP-794"
_OUT_OF_USE = (_JAVA_08, _SCALA, _SINEK)
_NOT_KAFKA = (_PULSAR, _SPARK, _CASSANDRA)
_USED_BY = {
    _JAVA: "Apache Kafka's Java client, with Kafka Connect, Kafka Streams, Spring and Flink",
    _JAVA_23: "Apache Kafka's Java client up to 2.3",
    _JAVA_08: "Apache Kafka's Java client of 0.8",
    _SCALA: "Apache Kafka's Scala client of 0.8",
    _STREAMS: "Kafka Streams",
    _RD: "librdkafka, the library of confluent-kafka for Python, Go, .NET and JavaScript, of node-rdkafka, rust-rdkafka and kcat",
    _PYTHON: "kafka-python, for Python",
    _AIO: "aiokafka, for Python",
    _JS: "kafkajs, for Node.js",
    _PLATFORMATIC: "@platformatic/kafka, for Node.js",
    _SARAMA: "Sarama, for Go (IBM, formerly Shopify)",
    _GO: "segmentio/kafka-go, for Go",
    _FRANZ: "franz-go, for Go, with Redpanda Connect and rpk",
    _SINEK: "node-sinek, for Node.js",
    _PULSAR: "Apache Pulsar's Java client",
    _SPARK: "Apache Spark's own partitions, not its Kafka sink",
    _CASSANDRA: "Apache Cassandra's tokens",
}
_NOTES = {
    _RD: (
        "The bindings for Node.js (confluent-kafka-javascript and node-rdkafka) send an empty Buffer as no key, and ignore "
        "`partitioner` in the global configuration: it belongs in the topic configuration."
    )
}

# name, client, class or function, what selects it, hash, sign, records without a key, empty key, explicit partition, encoding
# fmt: off
BUILTINS = (
    _partitioner("java", _JAVA, "BuiltInPartitioner.partitionForKey", "default", MURMUR2, _MASK, drawing.KIP_794, HASHED, _XJ, aliases=(_PRODUCER + "internals.DefaultPartitioner",)),
    _partitioner("java:sticky", _JAVA, _KIP, "partitioner.adaptive.partitioning.enable=false", MURMUR2, _MASK, drawing.KIP_794_STICKY, HASHED, _XJ),
    _partitioner("java:adaptive", _JAVA, _KIP, "default (load statistics)", MURMUR2, _MASK, drawing.KIP_794_ADAPTIVE, HASHED, _XJ),
    _partitioner("java:round-robin", _JAVA, "RoundRobinPartitioner", _CLASS, None, None, _RR, HASHED, _XJ, aliases=(_PRODUCER + "RoundRobinPartitioner",)),
    _partitioner("java-2.3", _JAVA_23, "DefaultPartitioner", "default up to 2.3", MURMUR2, _MASK, _RR, HASHED, _XJ),
    _partitioner("java-0.8", _JAVA_08, "internals.Partitioner", "the only one", MURMUR2, _MASK, _RR, HASHED, _X08),
    _partitioner("scala-0.8", _SCALA, "kafka.producer.DefaultPartitioner", "default", OBJECT, _ABS0, drawing.STICKY_RANDOM, encoding=columns.OBJECT, aliases=("kafka.producer.DefaultPartitioner",)),
    _partitioner("scala-0.8:byte-array", _SCALA, "kafka.producer.ByteArrayPartitioner", _CLASS, ARRAY, _ABS0, drawing.STICKY_RANDOM, aliases=("kafka.producer.ByteArrayPartitioner",)),
    _partitioner("streams:windowed", _STREAMS, "WindowedStreamPartitioner", "default of windowed keys", MURMUR2, _MASK, NO_NULL, HASHED, _XJ, options=("window",)),
    _partitioner("librdkafka:consistent", _RD, "rd_kafka_msg_partitioner_consistent", "partitioner=consistent", CRC32, _UNSIGNED, as_empty(CRC32)),
    _partitioner("librdkafka:consistent_random", _RD, "rd_kafka_msg_partitioner_consistent_random", "default", CRC32, _UNSIGNED, drawing.LIBRDKAFKA_STICKY, AS_NULL, aliases=("librdkafka", "confluent-kafka", "node-rdkafka")),
    _partitioner("librdkafka:murmur2", _RD, "rd_kafka_msg_partitioner_murmur2", "partitioner=murmur2", MURMUR2, _MASK, as_empty(MURMUR2)),
    _partitioner("librdkafka:murmur2_random", _RD, "rd_kafka_msg_partitioner_murmur2_random", "partitioner=murmur2_random", MURMUR2, _MASK, drawing.LIBRDKAFKA_STICKY),
    _partitioner("librdkafka:fnv1a", _RD, "rd_kafka_msg_partitioner_fnv1a", "partitioner=fnv1a", FNV1A, _REM_NEG, as_empty(FNV1A)),
    _partitioner("librdkafka:fnv1a_random", _RD, "rd_kafka_msg_partitioner_fnv1a_random", "partitioner=fnv1a_random", FNV1A, _REM_NEG, drawing.LIBRDKAFKA_STICKY),
    _partitioner("librdkafka:random", _RD, "rd_kafka_msg_partitioner_random", "partitioner=random", None, None, drawing.LIBRDKAFKA_RANDOM),
    _partitioner("kafka-python", _PYTHON, "DefaultPartitioner", "default", MURMUR2, _MASK, drawing.RANDOM),
    _partitioner("aiokafka", _AIO, "DefaultPartitioner", "default", MURMUR2, _MASK, drawing.RANDOM),
    _partitioner("kafkajs", _JS, "Partitioners.DefaultPartitioner", "default since 2.0", MURMUR2, _MASK, counting.KAFKAJS_ROUND_ROBIN, HASHED, _XJS),
    _partitioner("kafkajs:legacy", _JS, "Partitioners.LegacyPartitioner", "default before 2.0", LEGACY, _MASK, counting.KAFKAJS_ROUND_ROBIN, HASHED, _XJS),
    _partitioner("platformatic", _PLATFORMATIC, "defaultPartitioner", "default", MURMUR2, _UNSIGNED, counting.KAFKA_GO_NULL_ROUND_ROBIN),
    _partitioner("platformatic:compatibility", _PLATFORMATIC, "compatibilityPartitioner", "partitioner: compatibilityPartitioner", MURMUR2, _MASK, ZERO),
    _partitioner("sarama", _SARAMA, "NewHashPartitioner", "default", FNV1A, _REM_NEG, drawing.RANDOM),
    _partitioner("sarama:reference", _SARAMA, "NewReferenceHashPartitioner", _P, FNV1A, _MASK, drawing.RANDOM),
    _partitioner("sarama:crc32", _SARAMA, "NewConsistentCRCHashPartitioner", _P, CRC32, _UNSIGNED, drawing.RANDOM),
    _partitioner("sarama:murmur2", _SARAMA, "NewMurmur2Partitioner", _P, MURMUR2, _MASK, drawing.RANDOM),
    _partitioner("sarama:custom-crc32", _SARAMA, "NewCustomHashPartitioner(crc32.NewIEEE)", _P, CRC32, _REM_NEG, drawing.RANDOM),
    _partitioner("sarama:fnv1a-unsigned", _SARAMA, "NewCustomPartitioner(WithHashUnsigned())", _P, FNV1A, _UNSIGNED, drawing.RANDOM),
    _partitioner("sarama:round-robin", _SARAMA, "NewRoundRobinPartitioner", _P, None, None, counting.GO_ROUND_ROBIN),
    _partitioner("kafka-go:hash", _GO, "Hash{}", _B, FNV1A, _REM_NEG, counting.KAFKA_GO_NULL_ROUND_ROBIN),
    _partitioner("kafka-go:reference-hash", _GO, "ReferenceHash{}", _B, FNV1A, _MASK, drawing.RANDOM_OF_ALL),
    _partitioner("kafka-go:crc32", _GO, "CRC32Balancer{}", _B, CRC32, _UNSIGNED, drawing.RANDOM_OF_ALL, AS_NULL),
    _partitioner("kafka-go:crc32-consistent", _GO, "CRC32Balancer{Consistent: true}", _B, CRC32, _UNSIGNED, as_empty(CRC32)),
    _partitioner("kafka-go:murmur2", _GO, "Murmur2Balancer{}", _B, MURMUR2, _MASK, drawing.RANDOM_OF_ALL),
    _partitioner("kafka-go:murmur2-consistent", _GO, "Murmur2Balancer{Consistent: true}", _B, MURMUR2, _MASK, as_empty(MURMUR2)),
    _partitioner("kafka-go:round-robin", _GO, "RoundRobin{ChunkSize}", "default", None, None, counting.KAFKA_GO_ROUND_ROBIN, aliases=("kafka-go",)),
    _partitioner("kafka-go:least-bytes", _GO, "LeastBytes{}", _B, None, None, counting.LEAST_BYTES),
    _partitioner("franz-go", _FRANZ, "StickyKeyPartitioner(nil)", "default", MURMUR2, _MASK, drawing.STICKY_RANDOM),
    _partitioner("franz-go:kafka-fnv1a", _FRANZ, "StickyKeyPartitioner(KafkaHasher(fnv32a))", _R, FNV1A, _MASK, drawing.STICKY_RANDOM),
    _partitioner("franz-go:sarama-compat", _FRANZ, "StickyKeyPartitioner(SaramaCompatHasher(fnv32a))", _R, FNV1A, _REM_NEG, drawing.STICKY_RANDOM),
    _partitioner("franz-go:sarama-fnv1a", _FRANZ, "StickyKeyPartitioner(SaramaHasher(fnv32a)), 64-bit", _R, FNV1A, _UNSIGNED, drawing.STICKY_RANDOM),
    _partitioner("franz-go:sarama-crc32", _FRANZ, "StickyKeyPartitioner(SaramaHasher(crc32.ChecksumIEEE)), 64-bit", _R, CRC32, _UNSIGNED, drawing.STICKY_RANDOM),
    _partitioner("franz-go:round-robin", _FRANZ, "RoundRobinPartitioner()", _R, None, None, counting.GO_ROUND_ROBIN),
    _partitioner("sinek", _SINEK, "NProducer._getPartitionForKey", "default, murmurHashVersion=3", MURMUR3, _UNSIGNED, drawing.RANDOM_OF_ALL, AS_NULL, encoding=columns.LOW_BYTES),
    _partitioner("sinek:murmur2", _SINEK, "NProducer._getPartitionForKey", "murmurHashVersion=2, up to 6.13: without Kafka's seed", MURMUR2_SEED_0, _UNSIGNED, drawing.RANDOM_OF_ALL, AS_NULL, encoding=columns.LOW_BYTES),
    _partitioner("pulsar", _PULSAR, "HashingScheme.JavaStringHash", "default", STRING, _MASK, counting.PULSAR_ROUND_ROBIN, encoding=columns.PULSAR),
    _partitioner("pulsar:murmur3", _PULSAR, "HashingScheme.Murmur3_32Hash", "hashingScheme", MURMUR3, _MASK, counting.PULSAR_ROUND_ROBIN, encoding=columns.PULSAR_UTF8),
    _partitioner("pulsar:round-robin", _PULSAR, "RoundRobinPartitionMessageRouterImpl", "default router, no batching", STRING, _MASK, counting.PULSAR_ROUND_ROBIN, encoding=columns.PULSAR),
    _partitioner("pulsar:round-robin-batched", _PULSAR, "RoundRobinPartitionMessageRouterImpl", "default router", STRING, _MASK, counting.PULSAR_BATCHED_ROUND_ROBIN, encoding=columns.PULSAR),
    _partitioner("spark", _SPARK, "HashPartitioning.partitionIdExpression", "df.repartition(n, col)", SPARK, _PMOD, SPARK_NULL, encoding=columns.SPARK, run=by_spark_hash),
    _partitioner("spark:hash-partitioner", _SPARK, "HashPartitioner", "rdd.partitionBy", OBJECT, _PMOD, ZERO, encoding=columns.OBJECT),
    _partitioner("cassandra:murmur3", _CASSANDRA, "Murmur3Partitioner.getToken", "default", CASSANDRA, None, NO_NULL, encoding=columns.CASSANDRA, aliases=("cassandra",)),
)
# fmt: on

PARTITIONERS: Registry[Partitioner] = Registry(
    "partitioner", "partition_allocator.partitioners", BUILTINS, partial(plugins.guard, builtins=BUILTINS)
)
"""Every partitioner by name: this table, then plug-ins (docs/plugins.md)."""
