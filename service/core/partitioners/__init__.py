"""Key → partition: the table of partitioners, and ``allocate``, which asks one of them.

A line says what a client does: with a key that it hashes (hash and sign rule), with a record that has none (null rule), with an
empty key, and which setting selects it. An algorithm is a module: the hashes in murmur2.py, crc32.py, fnv1a.py, murmur3.py and
kafkajs_legacy.py, what becomes of them in signs.py, the rules for records without a key in counting.py and drawing.py.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from service.core import keys
from service.core.errors import InvalidQuestion
from service.core.jvm import hashing
from service.core.partitioners import counting, drawing, explicit, murmur3, signs
from service.core.partitioners.crc32 import crc32
from service.core.partitioners.fnv1a import fnv1a
from service.core.partitioners.kafkajs_legacy import kafkajs_legacy_murmur2
from service.core.partitioners.model import Answer, Hash, NullRule, Partitioner, Question, Sign, check_options
from service.core.partitioners.murmur2 import murmur2
from service.core.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.core.keys import Encoding
    from service.core.model import Int32s, Int64s, Keys

__all__ = ["PARTITIONERS", "Answer", "Partitioner", "Question", "allocate", "check_options"]


def allocate(
    partitioner: Partitioner, question: Question, at: str = "/keys/{}", explicit_at: str = "/explicit_partition"
) -> Answer:
    """Where ``partitioner`` sends the records of ``question``.

    at, explicit_at : JSON pointers to a key and to an explicit partition, with {} for the record's index
    Raises InvalidQuestion, and what the client itself throws (``service.core.partitioners.explicit``).
    """
    explicit.check(partitioner.explicit, question, explicit_at)
    answer: Answer = partitioner.run(question, partitioner, at)
    if question.explicit is None or question.explicit_given is None:
        return answer
    return replace(answer, partitions=np.where(question.explicit_given, question.explicit, answer.partitions))


def _rows(question: Question) -> Int64s:
    """The records that the partitioner is asked about."""
    given = question.explicit_given
    return np.arange(len(question.keys)) if given is None else np.flatnonzero(~given)


def unhashed_rows(question: Question, partitioner: Partitioner) -> Int64s:
    """int64[...]: the records whose partition the null rule decides."""
    if partitioner.hash is None:
        return _rows(question)
    valid = question.keys.valid
    unhashed = np.zeros(len(question.keys), np.bool_) if valid is None else ~valid
    if partitioner.empty_key == AS_NULL:
        unhashed = unhashed | (np.diff(question.keys.offsets) == 0)
    if question.explicit_given is not None:
        unhashed = unhashed & ~question.explicit_given
    return np.flatnonzero(unhashed)


def _by_hash(question: Question, partitioner: Partitioner, at: str) -> Answer:
    """Hash, sign rule, and the null rule for the rest."""
    assert partitioner.hash is not None
    hashes = partitioner.hash.run(question.keys, question.key_format)
    partitions = partitioner.sign.run(hashes, question.partitions_count) if partitioner.sign is not None else hashes
    # The common case, every record with a key, is not to pay for looking at each.
    if question.keys.valid is None and partitioner.empty_key != AS_NULL:
        rows = np.empty(0, np.int64)
    else:
        rows = unhashed_rows(question, partitioner)
    if len(rows) and partitioner.null is NO_NULL:
        raise InvalidQuestion(f"the partitioner {partitioner.name} knows no record without a key", at.format(int(rows[0])))
    return partitioner.null.run(question, rows, partitions)


def _spark(question: Question, partitioner: Partitioner, at: str) -> Answer:
    """Spark shows the hashes too; that of null is the seed."""
    hashes = murmur3.spark_murmur3(question.keys)
    if question.keys.valid is not None:
        hashes = np.where(question.keys.valid, hashes, np.int32(murmur3.SPARK_SEED))
    return Answer(signs.PMOD.run(hashes, question.partitions_count), hashes=hashes)


def _unhashed(question: Question, partitioner: Partitioner, at: str) -> Answer:
    """The null rule for every record."""
    return partitioner.null.run(question, _rows(question), np.empty(len(question.keys), np.int32))


def _object_hash_codes(encoded: Keys, key_format: str) -> Int32s:
    """Object.hashCode() of String, Short, Integer, Long, Float, Double and Boolean; 0 for null.

    encoded : as ``service.core.keys.OBJECT`` has them, text or big-endian numbers
    """
    if key_format == "string":
        return hashing.string_hash_codes(encoded)
    if key_format in ("long", "double"):
        codes = hashing.long_hash_codes(encoded.data.view(">i8").astype(np.int64))
    elif key_format == "boolean":
        codes = np.where(encoded.data != 0, np.int32(1231), np.int32(1237))
    else:
        codes = encoded.data.view(">i2" if key_format == "short" else ">i4").astype(np.int32)
    return codes if encoded.valid is None else np.where(encoded.valid, codes, np.int32(0))


HASHED, AS_NULL = "hashed", "as null"
MURMUR2 = Hash("murmur2, seed 0x9747b28c", lambda encoded, _: murmur2(encoded))
LEGACY = Hash("murmur2 in IEEE doubles", lambda encoded, _: kafkajs_legacy_murmur2(encoded))
CRC32 = Hash("CRC-32 (IEEE)", lambda encoded, _: crc32(encoded))
FNV1A = Hash("FNV-1a 32", lambda encoded, _: fnv1a(encoded))
MURMUR3 = Hash("murmur3 x86 32, seed 0", lambda encoded, _: murmur3.murmur3(encoded))
SPARK = Hash("murmur3 x86 32 with Spark's tail, seed 42", lambda encoded, _: murmur3.spark_murmur3(encoded))
CASSANDRA = Hash("murmur3 x64 128 with signed tail bytes, first half", lambda encoded, _: murmur3.cassandra_tokens(encoded))  # type: ignore[arg-type,return-value]
STRING = Hash("String.hashCode", lambda encoded, _: hashing.string_hash_codes(encoded))
ARRAY = Hash("Arrays.hashCode(byte[])", lambda encoded, _: hashing.byte_array_hash_codes(encoded))
OBJECT = Hash("Object.hashCode", _object_hash_codes)


def _keep(question: Question, rows: Int64s, partitions: Int32s) -> Answer:
    return Answer(partitions)


def _as_empty(question: Question, rows: Int64s, partitions: Int32s, *, hash_keys: Hash, sign: Sign) -> Answer:
    """Arrow may leave anything under a null, so that its hash is not that of an empty key by itself."""
    if len(rows):
        partitions[rows] = sign.run(hash_keys.run(keys.byte_strings([b""]), "base64"), question.partitions_count)
    return Answer(partitions)


def _first(question: Question, rows: Int64s, partitions: Int32s) -> Answer:
    partitions[rows] = 0
    return Answer(partitions)


NO_NULL = NullRule("refused: there is always a key", _keep)
SPARK_NULL = NullRule("the hash is 42, the seed", _keep, because="the hash of null is 42")
ZERO = NullRule("0", _first, because="null is 0")


def as_empty(hash_keys: Hash, sign: Sign) -> NullRule:
    """A record without a key is hashed as one with an empty key."""
    return NullRule("as an empty key", partial(_as_empty, hash_keys=hash_keys, sign=sign), because="as an empty key")


def _partitioner(
    name: str,
    client: str,
    source: str,
    setting: str,
    hash_: Hash | None,
    sign: Sign | None,
    null: NullRule,
    empty_key: str = HASHED,
    explicitly: explicit.ExplicitRule = explicit.CHECKED,
    encoding: Encoding = keys.SERIALIZED,
    run: Callable[[Question, Partitioner, str], Answer] | None = None,
    options: tuple[str, ...] = (),
) -> Partitioner:
    """One line of the table."""
    what = "Ignores keys" if hash_ is None else f"{hash_.name}, {sign.name if sign else 'as it is'}"
    return Partitioner(
        name=name,
        run=run or (_unhashed if hash_ is None else _by_hash),
        reproduces=f"{client} {source}",
        summary=f"{what}; {'every record' if hash_ is None else 'no key'}: {null.rule}.",
        client=client,
        setting=setting,
        hash=hash_,
        sign=sign,
        null=null,
        empty_key="as any record" if hash_ is None else empty_key,
        explicit=explicitly,
        encoding=encoding,
        options=(*null.options, *options),
    )


_JAVA, _JAVA_23, _JAVA_08, _SCALA = "kafka-clients 4.3.1", "kafka-clients 2.3.1", "kafka-clients 0.8.2.2", "kafka_2.11 0.8.2.2"
_RD, _SARAMA, _GO, _FRANZ = "librdkafka 2.16.0", "sarama v1.61.1", "kafka-go v0.4.51", "franz-go v1.22.2"
_JS, _PULSAR, _SPARK = "kafkajs 2.2.4", "pulsar-client 4.2.4", "Spark 4.2.0"
_CLASS, _P, _B, _R = "partitioner.class", "Producer.Partitioner", "Writer.Balancer", "RecordPartitioner"
_MASK, _UNSIGNED, _REM_NEG, _ABS0, _PMOD = signs.MASK, signs.UNSIGNED, signs.REM_NEG, signs.ABS0, signs.PMOD
_RR = counting.JAVA_ROUND_ROBIN
_XJ, _X08, _XJS = explicit.JAVA, explicit.JAVA_0_8, explicit.UNCHECKED
_KIP = "BuiltInPartitioner, KIP-794"

# name, client, class or function, what selects it, hash, sign, records without a key, empty key, explicit partition, encoding
# fmt: off
BUILTINS = (
    _partitioner("java", _JAVA, "BuiltInPartitioner.partitionForKey", "default", MURMUR2, _MASK, drawing.KIP_794, HASHED, _XJ),
    _partitioner("java:sticky", _JAVA, _KIP, "partitioner.adaptive.partitioning.enable=false", MURMUR2, _MASK, drawing.KIP_794_STICKY, HASHED, _XJ),
    _partitioner("java:adaptive", _JAVA, _KIP, "default (load statistics)", MURMUR2, _MASK, drawing.KIP_794_ADAPTIVE, HASHED, _XJ),
    _partitioner("java:round-robin", _JAVA, "RoundRobinPartitioner", _CLASS, None, None, _RR, HASHED, _XJ),
    _partitioner("java-2.3", _JAVA_23, "DefaultPartitioner", "default up to 2.3", MURMUR2, _MASK, _RR, HASHED, _XJ),
    _partitioner("java-0.8", _JAVA_08, "internals.Partitioner", "the only one", MURMUR2, _MASK, _RR, HASHED, _X08),
    _partitioner("scala-0.8", _SCALA, "kafka.producer.DefaultPartitioner", "default", OBJECT, _ABS0, drawing.STICKY_RANDOM, encoding=keys.OBJECT),
    _partitioner("scala-0.8:byte-array", _SCALA, "kafka.producer.ByteArrayPartitioner", _CLASS, ARRAY, _ABS0, drawing.STICKY_RANDOM),
    _partitioner("streams:windowed", "kafka-streams 4.3.1", "WindowedStreamPartitioner", "default of windowed keys", MURMUR2, _MASK, NO_NULL, HASHED, _XJ, options=("window",)),
    _partitioner("librdkafka:consistent", _RD, "rd_kafka_msg_partitioner_consistent", "partitioner=consistent", CRC32, _UNSIGNED, as_empty(CRC32, _UNSIGNED)),
    _partitioner("librdkafka:consistent_random", _RD, "rd_kafka_msg_partitioner_consistent_random", "default", CRC32, _UNSIGNED, drawing.LIBRDKAFKA_STICKY, AS_NULL),
    _partitioner("librdkafka:murmur2", _RD, "rd_kafka_msg_partitioner_murmur2", "partitioner=murmur2", MURMUR2, _MASK, as_empty(MURMUR2, _MASK)),
    _partitioner("librdkafka:murmur2_random", _RD, "rd_kafka_msg_partitioner_murmur2_random", "partitioner=murmur2_random", MURMUR2, _MASK, drawing.LIBRDKAFKA_STICKY),
    _partitioner("librdkafka:fnv1a", _RD, "rd_kafka_msg_partitioner_fnv1a", "partitioner=fnv1a", FNV1A, _REM_NEG, as_empty(FNV1A, _REM_NEG)),
    _partitioner("librdkafka:fnv1a_random", _RD, "rd_kafka_msg_partitioner_fnv1a_random", "partitioner=fnv1a_random", FNV1A, _REM_NEG, drawing.LIBRDKAFKA_STICKY),
    _partitioner("librdkafka:random", _RD, "rd_kafka_msg_partitioner_random", "partitioner=random", None, None, drawing.LIBRDKAFKA_RANDOM),
    _partitioner("kafka-python", "kafka-python 3.0.12", "DefaultPartitioner", "default", MURMUR2, _MASK, drawing.RANDOM),
    _partitioner("aiokafka", "aiokafka 0.14.0", "DefaultPartitioner", "default", MURMUR2, _MASK, drawing.RANDOM),
    _partitioner("kafkajs", _JS, "Partitioners.DefaultPartitioner", "default since 2.0", MURMUR2, _MASK, counting.KAFKAJS_ROUND_ROBIN, HASHED, _XJS),
    _partitioner("kafkajs:legacy", _JS, "Partitioners.LegacyPartitioner", "default before 2.0", LEGACY, _MASK, counting.KAFKAJS_ROUND_ROBIN, HASHED, _XJS),
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
    _partitioner("kafka-go:crc32-consistent", _GO, "CRC32Balancer{Consistent: true}", _B, CRC32, _UNSIGNED, as_empty(CRC32, _UNSIGNED)),
    _partitioner("kafka-go:murmur2", _GO, "Murmur2Balancer{}", _B, MURMUR2, _MASK, drawing.RANDOM_OF_ALL),
    _partitioner("kafka-go:murmur2-consistent", _GO, "Murmur2Balancer{Consistent: true}", _B, MURMUR2, _MASK, as_empty(MURMUR2, _MASK)),
    _partitioner("kafka-go:round-robin", _GO, "RoundRobin{ChunkSize}", "default", None, None, counting.KAFKA_GO_ROUND_ROBIN),
    _partitioner("kafka-go:least-bytes", _GO, "LeastBytes{}", _B, None, None, counting.LEAST_BYTES),
    _partitioner("franz-go", _FRANZ, "StickyKeyPartitioner(nil)", "default", MURMUR2, _MASK, drawing.STICKY_RANDOM),
    _partitioner("franz-go:kafka-fnv1a", _FRANZ, "StickyKeyPartitioner(KafkaHasher(fnv32a))", _R, FNV1A, _MASK, drawing.STICKY_RANDOM),
    _partitioner("franz-go:sarama-compat", _FRANZ, "StickyKeyPartitioner(SaramaCompatHasher(fnv32a))", _R, FNV1A, _REM_NEG, drawing.STICKY_RANDOM),
    _partitioner("franz-go:sarama-fnv1a", _FRANZ, "StickyKeyPartitioner(SaramaHasher(fnv32a)), 64-bit", _R, FNV1A, _UNSIGNED, drawing.STICKY_RANDOM),
    _partitioner("franz-go:sarama-crc32", _FRANZ, "StickyKeyPartitioner(SaramaHasher(crc32.ChecksumIEEE)), 64-bit", _R, CRC32, _UNSIGNED, drawing.STICKY_RANDOM),
    _partitioner("franz-go:round-robin", _FRANZ, "RoundRobinPartitioner()", _R, None, None, counting.GO_ROUND_ROBIN),
    _partitioner("pulsar", _PULSAR, "HashingScheme.JavaStringHash", "default", STRING, _MASK, counting.PULSAR_ROUND_ROBIN, encoding=keys.PULSAR),
    _partitioner("pulsar:murmur3", _PULSAR, "HashingScheme.Murmur3_32Hash", "hashingScheme", MURMUR3, _MASK, counting.PULSAR_ROUND_ROBIN, encoding=keys.PULSAR_UTF8),
    _partitioner("pulsar:round-robin", _PULSAR, "RoundRobinPartitionMessageRouterImpl", "default router, no batching", STRING, _MASK, counting.PULSAR_ROUND_ROBIN, encoding=keys.PULSAR),
    _partitioner("pulsar:round-robin-batched", _PULSAR, "RoundRobinPartitionMessageRouterImpl", "default router", STRING, _MASK, counting.PULSAR_BATCHED_ROUND_ROBIN, encoding=keys.PULSAR),
    _partitioner("spark", _SPARK, "HashPartitioning.partitionIdExpression", "df.repartition(n, col)", SPARK, _PMOD, SPARK_NULL, encoding=keys.SPARK, run=_spark),
    _partitioner("spark:hash-partitioner", _SPARK, "HashPartitioner", "rdd.partitionBy", OBJECT, _PMOD, ZERO, encoding=keys.OBJECT),
    _partitioner("cassandra:murmur3", "cassandra-all 5.0.9", "Murmur3Partitioner.getToken", "default", CASSANDRA, None, NO_NULL, encoding=keys.CASSANDRA),
)
# fmt: on

PARTITIONERS: Registry[Partitioner] = Registry("partitioner", "service.partitioners", BUILTINS)
"""Every partitioner by name: this table, then plug-ins."""
