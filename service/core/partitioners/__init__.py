# ruff: noqa: E501 - one line a partitioner
"""Key → partition: the table of partitioners.

A line says what a client does with a key that it hashes (hash and sign rule), with a record that has no key (null rule) and with
an empty key, and which setting selects the partitioner. Each hash is in a module of its name, Java's own in hash_codes.py; the
sign rules are in allocation.py, the rules for records without a key in hash_codes.py, counting.py and drawing.py. ``allocate`` runs one of
the partitioners.
"""

from collections.abc import Callable
from functools import partial

from service.core.kafka_versions import LATEST
from service.core.keys import columns
from service.core.keys.columns import Encoding
from service.core.partitioners import allocation, counting, drawing, explicit, model
from service.core.partitioners.allocation import (
    allocate,
    by_hash,
    by_spark_hash,
    by_wide_hash,
    check_options,
    ignoring_keys,
)
from service.core.partitioners.crc32 import CRC32
from service.core.partitioners.fnv1a import FNV1A
from service.core.partitioners.hash_codes import ARRAY, NO_NULL, OBJECT, SPARK_NULL, STRING, WHOLE_NUMBER, ZERO, as_empty
from service.core.partitioners.hashing_rule import Hash, Sign
from service.core.partitioners.infinispan_murmur3 import INFINISPAN
from service.core.partitioners.kafkajs_legacy import LEGACY
from service.core.partitioners.lookup3 import LOOKUP3, LOOKUP3_CODE_POINTS, LOOKUP3_SIGNED
from service.core.partitioners.md5 import MD5, RANGES
from service.core.partitioners.model import AS_NULL, HASH_BITS, HASHED, Answer, ExplicitRule, NullRule, Partitioner, Question
from service.core.partitioners.murmur2 import MURMUR2, MURMUR2_SEED_0
from service.core.partitioners.murmur3 import CASSANDRA, MAXWELL, MURMUR3, SPARK
from service.core.partitioners.parts import SUM_OF_HASH_CODES, SUM_OF_MURMUR3, XOR_OF_CRC32
from service.core.partitioners.phash2 import PHASH2
from service.core.registry import Implementation, Registry

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
    products = _PRODUCTS.get(name, "")
    what = "Ignores keys" if hash_ is None else f"{hash_.name}, {sign.name if sign else 'as it is'}"
    return Partitioner(
        name=name,
        run=run or _run(hash_, sign),
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
        used_by="; ".join(filter(None, (_USED_BY.get(client), products))),
        products=products,
        notes=_NOTES.get(client, ""),
        in_use=client not in _OUT_OF_USE,
        writes_to_kafka=client not in _NOT_KAFKA,
        hashes_record_key=client not in _OF_FIELDS,
    )


def _run(hash_: Hash | None, sign: Sign | None) -> Callable[[Question, Partitioner], Answer]:
    if hash_ is None:
        return ignoring_keys
    return by_wide_hash if sign is None or hash_.bits > HASH_BITS else by_hash


_JAVA, _JAVA_23, _JAVA_08, _SCALA = ("java", LATEST), ("java", "2.3.1"), ("java", "0.8.2.2"), ("scala", "0.8.2.2")
_STREAMS = ("kafka-streams", LATEST)
_RD, _SARAMA, _GO, _FRANZ = ("librdkafka", "2.16.0"), ("sarama", "v1.61.1"), ("kafka-go", "v0.4.51"), ("franz-go", "v1.22.2")
_JS, _PLATFORMATIC, _SINEK = ("kafkajs", "2.2.4"), ("@platformatic/kafka", "1.35.0"), ("node-sinek", "6.13.0")
_PYTHON, _AIO = ("kafka-python", "3.0.12"), ("aiokafka", "0.14.0")
_PULSAR, _SPARK, _CASSANDRA = ("pulsar-client", "4.2.4"), ("Spark", "4.2.0"), ("cassandra-all", "5.0.9")
_BROD, _WOLFF, _RUBY = ("brod", "4.6.2"), ("wolff", "4.2.1"), ("ruby-kafka", "1.5.0")
_BEATS, _BEATS_7 = ("beats", "8.0.0"), ("beats", "7.12.0")
_DEBEZIUM, _DEBEZIUM_22 = ("debezium", "3.4.0.Final"), ("debezium", "2.2.1.Final")
_TICDC, _MAXWELL, _SPRING = ("ticdc", "v9.0.0-beta.2"), ("maxwell", "1.45.0"), ("spring-cloud-stream", "5.0.1")
_EVENT_HUBS, _EVENT_HUBS_JAVA = ("Azure.Messaging.EventHubs", "5.11.2"), ("azure-messaging-eventhubs", "5.21.3")
_EVENT_HUBS_JS, _EVENT_HUBS_PYTHON = ("@azure/event-hubs", "6.0.4"), ("azure-eventhub", "5.15.1")
_KINESIS, _PINOT = ("Amazon Kinesis", "CreateStream"), ("pinot-segment-spi", "1.5.0")
_PRODUCER = "org.apache.kafka.clients.producer."
_CLASS, _P, _B, _R = "partitioner.class", "Producer.Partitioner", "Writer.Balancer", "RecordPartitioner"
_MASK, _UNSIGNED, _REM_NEG = allocation.MASK, allocation.UNSIGNED, allocation.REM_NEG
_ABS0, _PMOD = allocation.ABS0, allocation.PMOD
_RR = counting.JAVA_ROUND_ROBIN
_XJ, _X08, _XJS = explicit.JAVA, explicit.JAVA_0_8, explicit.UNCHECKED
_KIP = "BuiltInPartitioner, KIP-794"
_OUT_OF_USE = (_JAVA_08, _SCALA, _SINEK)
_EVENT_HUBS_ALL = (_EVENT_HUBS, _EVENT_HUBS_JAVA, _EVENT_HUBS_JS, _EVENT_HUBS_PYTHON)
_NOT_KAFKA = (_PULSAR, _SPARK, _CASSANDRA, _PINOT, _KINESIS, *_EVENT_HUBS_ALL)
_OF_FIELDS = (_DEBEZIUM, _DEBEZIUM_22, _TICDC, _MAXWELL, _SPRING)
_DBZ = "PartitionRouting.computePartition"
_DISPATCHER = "IndexValueDispatcher, ColumnsDispatcher"
_RESOLVER = "PartitionResolver.AssignForPartitionKey"
_FN = "columnPartitionMap.functionName"
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
    _FRANZ: "franz-go, for Go",
    _SINEK: "node-sinek, for Node.js",
    _PULSAR: "Apache Pulsar's Java client",
    _SPARK: "Apache Spark's own partitions, not its Kafka sink",
    _CASSANDRA: "Apache Cassandra's tokens",
    _BROD: "brod, for Erlang and Elixir",
    _WOLFF: "wolff, for Erlang",
    _RUBY: "ruby-kafka, for Ruby",
    _BEATS: "Elastic Beats and Elastic Agent",
    _BEATS_7: "Elastic Beats up to 7.12.0",
    _DEBEZIUM: "Debezium's transformation PartitionRouting",
    _DEBEZIUM_22: "Debezium's transformation PartitionRouting up to 2.2",
    _TICDC: "TiCDC, the change feed of TiDB",
    _MAXWELL: "Maxwell, the change feed of MySQL",
    _SPRING: "Spring Cloud Stream",
    _EVENT_HUBS: "Azure Event Hubs' library for .NET, a port of what the service does with partition keys",
    _EVENT_HUBS_JAVA: "Azure Event Hubs' library for Java",
    _EVENT_HUBS_JS: "Azure Event Hubs' library for JavaScript",
    _EVENT_HUBS_PYTHON: "Azure Event Hubs' library for Python",
    _KINESIS: "Amazon Kinesis Data Streams",
    _PINOT: "Apache Pinot's segments",
}
_PRODUCTS = {
    "java": (
        "Logstash (partitioner), NiFi (Partitioner class), ksqlDB, and kafka-producer-perf-test, whose keys are strings of the digits of "
        "0, 1, 2 … (KIP-1299)"
    ),
    "librdkafka:consistent_random": (
        "Fluent Bit (rdkafka.partitioner), Vector (librdkafka_options), Fluentd's rdkafka2, rsyslog's omkafka, ClickHouse, Materialize"
    ),
    "sarama": "Telegraf (routing_tag, routing_key)",
    "franz-go": "Redpanda Connect (partitioner), rpk",
    "franz-go:sarama-compat": (
        "CockroachDB's changefeeds (without partition_alg=murmur2, which is franz-go), the OpenTelemetry Collector's exporter (record_partitioner)"
    ),
    "ruby-kafka": "Fluentd's kafka2 (partitioner_hash_function)",
    "brod": "Broadway, Kaffe",
    "beats": "Filebeat, Metricbeat and the other Beats (partition.hash)",
    "wolff": "EMQX (partition_strategy = key_dispatch)",
}
"""Products that use a client in this way, with the setting that decides."""

_PARTS = "of several fields, the values with the unit separator U+001F between them."
_NOTES = {
    _RD: (
        "The bindings for Node.js (confluent-kafka-javascript and node-rdkafka) send an empty Buffer as no key, and ignore "
        "`partitioner` in the global configuration: it belongs in the topic configuration."
    ),
    _BROD: "A key is a binary; an iolist has another hash. An empty key is sent as no key.",
    _WOLFF: "A key is a binary. The first record's key decides for all records of a call; an empty key is sent as no key.",
    _BEATS_7: "A record whose hash is -2147483648 blocks it, unless the partition count is a power of two.",
    _DEBEZIUM: f"The key is the field's value; {_PARTS} Null fields are left out.",
    _DEBEZIUM_22: f"The key is the field's value; {_PARTS}",
    _TICDC: (
        "The key is schema name and table name without anything between them, then for `index-value` and `columns`, each after the "
        "unit separator U+001F, every column's name and value: `testorders\\u001fid11`. For `ts` it is the commit ts."
    ),
    _MAXWELL: "The key is what producer_partition_by names: a database, a table, or values of columns end to end.",
    _SPRING: "The key is the value of partitionKeyExpression, whose hashCode() counts; the record's key plays no part.",
    _EVENT_HUBS_JAVA: "Other than the service for keys that do not end in ASCII.",
    _EVENT_HUBS_PYTHON: "Other than the service for half of the keys: it takes the mathematical modulo of a negative hash.",
    _KINESIS: "Partitions are shards, in the order of their hash key ranges.",
    _PINOT: "A stream's partitions must be those of the function that the table names.",
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
    _partitioner("franz-go", _FRANZ, "StickyKeyPartitioner(nil)", "default, since 1.6 UniformBytesPartitioner, where keys go alike", MURMUR2, _MASK, drawing.STICKY_RANDOM),
    _partitioner("franz-go:kafka-fnv1a", _FRANZ, "StickyKeyPartitioner(KafkaHasher(fnv32a))", _R, FNV1A, _MASK, drawing.STICKY_RANDOM),
    _partitioner("franz-go:sarama-compat", _FRANZ, "StickyKeyPartitioner(SaramaCompatHasher(fnv32a))", _R, FNV1A, _REM_NEG, drawing.STICKY_RANDOM),
    _partitioner("franz-go:sarama-fnv1a", _FRANZ, "StickyKeyPartitioner(SaramaHasher(fnv32a)), 64-bit", _R, FNV1A, _UNSIGNED, drawing.STICKY_RANDOM),
    _partitioner("franz-go:sarama-crc32", _FRANZ, "StickyKeyPartitioner(SaramaHasher(crc32.ChecksumIEEE)), 64-bit", _R, CRC32, _UNSIGNED, drawing.STICKY_RANDOM),
    _partitioner("franz-go:round-robin", _FRANZ, "RoundRobinPartitioner()", _R, None, None, counting.GO_ROUND_ROBIN),
    _partitioner("sinek", _SINEK, "NProducer._getPartitionForKey", "default, murmurHashVersion=3", MURMUR3, _UNSIGNED, drawing.RANDOM_OF_ALL, AS_NULL, encoding=columns.LOW_BYTES),
    _partitioner("sinek:murmur2", _SINEK, "NProducer._getPartitionForKey", "murmurHashVersion=2, up to 6.13: without Kafka's seed", MURMUR2_SEED_0, _UNSIGNED, drawing.RANDOM_OF_ALL, AS_NULL, encoding=columns.LOW_BYTES),
    _partitioner("brod", _BROD, "brod_utils:make_part_fun(hash)", "partitioner hash of brod:produce", PHASH2, _UNSIGNED, as_empty(PHASH2), aliases=("brod:hash",)),
    _partitioner("wolff", _WOLFF, "wolff_producers:pick_partition", "partitioner => first_key_dispatch", PHASH2, _UNSIGNED, as_empty(PHASH2), aliases=("wolff:first_key_dispatch",)),
    _partitioner("ruby-kafka", _RUBY, "Kafka::Partitioner, Crc32Hash", "hash_function: :crc32, the default", CRC32, _UNSIGNED, drawing.RANDOM_OF_ALL),
    _partitioner("ruby-kafka:murmur2", _RUBY, "Kafka::Partitioner, Murmur2Hash", "hash_function: :murmur2", MURMUR2, _MASK, drawing.RANDOM_OF_ALL),
    _partitioner("beats", _BEATS, "makeHashPartitioner, hash2Partition", "partition.hash, the default", FNV1A, _MASK, drawing.RANDOM_OF_ALL),
    _partitioner("beats:7.12", _BEATS_7, "makeHashPartitioner, hash2Partition", "partition.hash, up to 7.12.0", FNV1A, _REM_NEG, drawing.RANDOM_OF_ALL),
    _partitioner("debezium", _DEBEZIUM, _DBZ, "partition.hash.function=java, the default, since 2.3", SUM_OF_HASH_CODES, allocation.DEBEZIUM, NO_NULL, encoding=columns.OBJECT),
    _partitioner("debezium:murmur", _DEBEZIUM, _DBZ, "partition.hash.function=murmur, since 2.3", SUM_OF_MURMUR3, allocation.DEBEZIUM, NO_NULL, encoding=columns.SERIALIZED_OBJECT),
    _partitioner("debezium:2.2", _DEBEZIUM_22, _DBZ, "PartitionRouting, up to 2.2", SUM_OF_HASH_CODES, _MASK, NO_NULL, encoding=columns.OBJECT),
    _partitioner("ticdc:table", _TICDC, "TableDispatcher", "partition = table, the default", CRC32, _UNSIGNED, NO_NULL, encoding=columns.UTF8, aliases=("ticdc", "ticdc:default")),
    _partitioner("ticdc:index-value", _TICDC, _DISPATCHER, "partition = index-value or columns", XOR_OF_CRC32, _UNSIGNED, NO_NULL, encoding=columns.UTF8, aliases=("ticdc:columns",)),
    _partitioner("ticdc:ts", _TICDC, "TsDispatcher", "partition = ts", WHOLE_NUMBER, allocation.WIDE_PMOD, NO_NULL, encoding=columns.WHOLE_NUMBERS),
    _partitioner("maxwell", _MAXWELL, "MaxwellKafkaPartitioner, HashFunctionDefault", "kafka_partition_hash=default", STRING, _REM_NEG, NO_NULL, encoding=columns.TEXT),
    _partitioner("maxwell:murmur3", _MAXWELL, "MaxwellKafkaPartitioner, HashFunctionMurmur3", "kafka_partition_hash=murmur3", MAXWELL, _REM_NEG, NO_NULL, encoding=columns.TEXT),
    _partitioner("spring-cloud-stream", _SPRING, "PartitionHandler.DefaultPartitionSelector", "partitionKeyExpression without a selector", OBJECT, _ABS0, NO_NULL, encoding=columns.OBJECT),
    _partitioner("event-hubs", _EVENT_HUBS, _RESOLVER, "EventHubBufferedProducerClient", LOOKUP3, _REM_NEG, counting.EVENT_HUBS_ROUND_ROBIN, AS_NULL, encoding=columns.UTF8),
    _partitioner("event-hubs:java-sdk", _EVENT_HUBS_JAVA, "PartitionResolver.assignForPartitionKey", "EventHubBufferedProducerClient", LOOKUP3_SIGNED, _REM_NEG, counting.EVENT_HUBS_ROUND_ROBIN, encoding=columns.UTF8),
    _partitioner("event-hubs:js-sdk", _EVENT_HUBS_JS, "mapPartitionKeyToId", "EventHubBufferedProducerClient", LOOKUP3, _REM_NEG, counting.EVENT_HUBS_ROUND_ROBIN, encoding=columns.UTF8),
    _partitioner("event-hubs:python-sdk", _EVENT_HUBS_PYTHON, "PartitionResolver.get_partition_id_by_partition_key", "EventHubProducerClient(buffered_mode=True)", LOOKUP3_CODE_POINTS, _PMOD, counting.EVENT_HUBS_ROUND_ROBIN, encoding=columns.TEXT_OF_STRINGS),
    _partitioner("kinesis", _KINESIS, "hash key ranges of CreateStream", "a stream that was not resharded", MD5, RANGES, NO_NULL, encoding=columns.UTF8),
    _partitioner("pinot:murmur", _PINOT, "MurmurPartitionFunction", _FN, MURMUR2, _MASK, NO_NULL, encoding=columns.TEXT_UTF8),
    _partitioner("pinot:murmur3", _PINOT, "Murmur3PartitionFunction", _FN, MURMUR3, _MASK, NO_NULL, encoding=columns.TEXT_UTF8),
    _partitioner("pinot:murmur3-x64", _PINOT, "Murmur3PartitionFunction, variant x64_32", _FN, INFINISPAN, _MASK, NO_NULL, encoding=columns.TEXT_UTF8),
    _partitioner("pinot:hash-code", _PINOT, "HashCodePartitionFunction", _FN, STRING, _ABS0, NO_NULL, encoding=columns.TEXT),
    _partitioner("pinot:byte-array", _PINOT, "ByteArrayPartitionFunction", _FN, ARRAY, _ABS0, NO_NULL, encoding=columns.TEXT_UTF8),
    _partitioner("pinot:modulo", _PINOT, "ModuloPartitionFunction", _FN, WHOLE_NUMBER, allocation.WIDE_PMOD, NO_NULL, encoding=columns.WHOLE_NUMBERS),
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
    "partitioner", "partition_allocator.partitioners", BUILTINS, partial(model.guard, builtins=BUILTINS)
)
"""Every partitioner by name: this table, then plug-ins (docs/extending.md)."""
