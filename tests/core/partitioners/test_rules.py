"""Sign rules, counting and drawing: plain twins, and what holds for every partitioner of the table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.errors import InvalidQuestion
from service.core.jvm.random import JavaRandom
from service.core.partitioners import PARTITIONERS, Question, allocate, allocation, check_options
from service.core.partitioners.allocation import explain
from service.core.partitioners.counting import _emptiest
from service.core.partitioners.drawing import _sticky_turns
from service.core.partitioners.explicit import IllegalArgumentException, TimeoutException
from service.core.partitioners.hash_codes import NO_NULL
from service.core.partitioners.model import AS_NULL
from tests.reference import partitioning as twins
from tests.support.questions import ask, keys_of

INTS = st.integers(-(2**31), 2**31 - 1) | st.sampled_from([-(2**31), -(2**31) + 1, -1, 0, 1, 2**31 - 1])
COUNTS = st.integers(1, 2**31 - 1) | st.sampled_from([1, 2, 3, 12, 49, 2**30, 2**31 - 1])
KEYS = st.lists(st.none() | st.binary(max_size=12), min_size=1, max_size=12)
TAKING_BYTES = [p for p in PARTITIONERS if "base64" in p.encoding.formats and p.sign is not None and p.name != "java:sticky"]
DRAWING = [p for p in PARTITIONERS if "random_seed" in p.options and "base64" in p.encoding.formats and p.name != "java:sticky"]


def asked(partitioner, keys, n, **options):
    encoded = partitioner.encoding.run(keys_of(keys), "base64")
    return allocate(partitioner, Question(n, encoded, **options))


@pytest.mark.parametrize(
    ("sign", "twin"),
    [
        (allocation.MASK, twins.mask),
        (allocation.UNSIGNED, twins.unsigned),
        (allocation.REM_NEG, twins.rem_neg),
        (allocation.ABS0, twins.abs0),
        (allocation.PMOD, twins.pmod),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_sign_rule_is_its_twin_and_its_first_step_leads_there(sign, twin):
    @given(st.lists(INTS, min_size=1, max_size=20), COUNTS)
    def check(hashes, n):
        hashes += [multiple for h in hashes if (multiple := h // n * n) >= -(2**31)]  # with 49, their quotients are one too small
        partitions = sign.run(np.array(hashes, np.int32), n)
        assert partitions.dtype == np.int32
        assert partitions.tolist() == [twin(h, n) for h in hashes] == [sign.before_modulo(h) % n for h in hashes]

    check()


@given(st.lists(st.integers(0, 50) | st.sampled_from([2**62, 2**63 - 1, 2**64 - 1]), max_size=60), st.integers(1, 12))
def test_least_bytes_is_its_twin(sizes, n):
    assert _emptiest(np.array(sizes, np.uint64), n).tolist() == twins.least_bytes(sizes, n)


SIZES = st.integers(0, 60) | st.sampled_from([2**30, 2**31 - 1])
BATCH_SIZES = st.integers(1, 50) | st.sampled_from([2**30 - 1, 2**30, 2**31 - 1])


@given(st.lists(st.tuples(SIZES, st.booleans()), max_size=60), BATCH_SIZES)
def test_stickiness_is_its_twin(records, batch_size):
    added, switch = [size for size, _ in records], [enabled for _, enabled in records]
    turns, used = _sticky_turns(np.array(added, np.int64), np.array(switch, np.bool_), batch_size)
    assert turns.tolist() == twins.sticky_turns(added, switch, batch_size)
    assert used == 0 if not records else used > turns[-1]


@pytest.mark.parametrize("partitioner", TAKING_BYTES, ids=lambda p: p.name)
def test_every_answer_is_in_range_and_the_same_again(partitioner):
    @given(KEYS, st.integers(1, 40))
    def check(keys, n):
        if partitioner.null is NO_NULL:
            keys = [key or b"" for key in keys]
        options = {"clock_ms": np.arange(len(keys)) * 7} if "clock_ms" in partitioner.options else {}
        partitions = asked(partitioner, keys, n, **options).partitions
        assert partitions.dtype == np.int32
        assert ((partitions >= 0) & (partitions < n)).all()
        assert asked(partitioner, keys, n, **options).partitions.tolist() == partitions.tolist()

    check()


@pytest.mark.parametrize("partitioner", TAKING_BYTES, ids=lambda p: p.name)
def test_a_hashed_key_goes_to_the_same_partition_in_any_company(partitioner):
    if partitioner.hash is None:
        pytest.skip("keys are not hashed")

    @given(st.lists(st.binary(min_size=1, max_size=12), min_size=1, max_size=8), st.integers(1, 40))
    def check(keys, n):
        alone = [int(asked(partitioner, [key], n).partitions[0]) for key in keys]
        assert asked(partitioner, keys, n).partitions.tolist() == alone

    check()


@pytest.mark.parametrize("partitioner", TAKING_BYTES, ids=lambda p: p.name)
def test_an_explanation_leads_to_the_answer(partitioner):
    keys = [b"a", b"", b"order-1", *([] if partitioner.null is NO_NULL else [None, None])]
    options = {"clock_ms": np.arange(len(keys)) * 7} if "clock_ms" in partitioner.options else {}
    question = Question(7, partitioner.encoding.run(keys_of(keys), "base64"), **options)
    answer = allocate(partitioner, question)
    steps = explain(partitioner, question, answer)
    assert [step["result"] for step in steps] == answer.partitions.tolist()
    for step in steps:
        if "hash" in step:
            assert step["after_sign_rule"] % step["modulo"] == step["result"]
            assert int(step["hash_hex"], 16) == step["hash"] % 2**32
    if partitioner.hash is not None and None in keys:
        assert steps[-1]["rule"].startswith("null key: ")
        assert steps[1]["rule"].startswith("empty key: " if partitioner.empty_key == AS_NULL else "key: ")


@pytest.mark.parametrize("partitioner", DRAWING, ids=lambda p: p.name)
def test_the_seed_decides_the_draws(partitioner):
    def drawn(seed):
        return asked(partitioner, [None] * 3, 1_000_003, random_seed=seed).partitions.tolist()

    assert drawn(None) == drawn(0)
    assert len({tuple(drawn(seed)) for seed in range(5)}) == 5
    sticky = "sticky" in partitioner.null.rule or partitioner.name == "librdkafka:random"
    assert len(set(drawn(1))) == (1 if sticky else 3)
    kip_794 = partitioner.name in ("java", "java:adaptive")
    random = JavaRandom(1)
    assert drawn(1)[0] == ((random.next_int() & 0x7FFFFFFF) % 1_000_003 if kip_794 else random.next_int(1_000_003))


@pytest.mark.parametrize("name", ["java", "java-2.3", "kafka-python", "sarama", "franz-go", "kafkajs", "java:round-robin"])
def test_a_record_without_a_key_goes_to_an_available_partition(name):
    partitions = asked(PARTITIONERS[name], [None] * 20, 12, available_partitions=np.array([7, 3], np.int32)).partitions
    assert set(partitions.tolist()) <= {7, 3}


def test_librdkafka_draws_once_more_for_a_partition_without_leader_and_keeps_that():
    random = JavaRandom(0)
    first, second = random.next_int(12), random.next_int(12)
    available = np.array([p for p in range(12) if p != first], np.int32)
    question = Question(12, keys_of([None]), available_partitions=available)
    assert allocate(PARTITIONERS["librdkafka:fnv1a_random"], question).partitions.tolist() == [second]


def test_an_explicit_partition_leaves_counter_and_hash_alone():
    question = Question(
        12,
        keys_of([None, b"a", None]),
        counter=5,
        explicit=np.array([11, 3, 0], np.int32),
        explicit_given=np.array([True, True, False]),
    )
    answer = allocate(PARTITIONERS["java-2.3"], question)
    assert answer.partitions.tolist() == [11, 3, 5]
    assert answer.counter == 6


@pytest.mark.parametrize(
    ("partition", "error", "words"),
    [
        (-1, IllegalArgumentException, "Invalid partition: -1. Partition number should always be non-negative or null."),
        (12, TimeoutException, "with partition count 12 is not present in metadata"),
    ],
)
def test_todays_java_client_refuses_in_its_own_words(partition, error, words):
    with pytest.raises(error, match=words):
        ask({"partitioner": "java", "partitions_count": 12, "keys": ["a"], "explicit_partition": partition})


def test_other_clients_explicit_partition_is_checked_by_the_service():
    with pytest.raises(InvalidQuestion, match=r"Partition 12 is not in \[0, 12\)") as refused:
        ask({"partitioner": "sarama", "partitions_count": 12, "keys": ["a"], "explicit_partition": 12})
    assert refused.value.field == ("explicit", 0)


@pytest.mark.parametrize("option", ["counter", "chunk_size", "value_sizes", "window", "queue_sizes"])
def test_an_option_without_meaning_is_refused_by_name(option):
    with pytest.raises(InvalidQuestion, match=f"The partitioner sarama:crc32 has no option {option}") as refused:
        check_options(PARTITIONERS["sarama:crc32"], [option], lambda name: (name,))
    assert refused.value.field == (option,)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"value_sizes": np.array([1], np.int64)}, ("value_sizes",)),
        ({"available_partitions": np.array([0, 12], np.int32)}, ("available_partitions", 1)),
    ],
)
def test_options_that_do_not_fit_the_records_are_refused(options, field):
    with pytest.raises(InvalidQuestion) as refused:
        allocate(PARTITIONERS["kafka-go:least-bytes"], Question(12, keys_of([b"a", b"b"]), **options))
    assert refused.value.field == field


def test_a_windowed_key_is_never_null():
    with pytest.raises(InvalidQuestion, match="accepts no record without a key") as refused:
        ask({"partitioner": "streams:windowed", "partitions_count": 12, "keys": ["a", None]})
    assert refused.value.field == ("keys", 1)


def test_too_few_random_values_are_refused():
    with pytest.raises(InvalidQuestion, match="random_values needs 2 values, not 1"):
        ask({"partitioner": "java:adaptive", "partitions_count": 12, "keys": [None, None], "random_values": [1]})


def test_two_billion_partitions_need_no_memory():
    answer = ask({"partitioner": "kafka-go:least-bytes", "partitions_count": 2**31 - 1, "keys": ["a"] * 5})
    assert answer.partitions.tolist() == [0, 1, 2, 3, 4]


@given(st.integers(1, 2**31 - 1), st.integers(0, 2**32 - 1), st.integers(-1, 1))
def test_the_modulo_is_right_beside_every_multiple(n, value, offset):
    values = [value, min(max(value // n * n + offset, 0), 2**32 - 1)]
    hashes = np.array(values, np.uint32).view(np.int32)
    assert allocation._modulo(hashes, n, np.int64(0xFFFFFFFF)).tolist() == [value % n for value in values]
