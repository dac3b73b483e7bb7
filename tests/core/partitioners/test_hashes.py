"""The hash kernels are the real ones, and their plain twins."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
import zlib
from itertools import groupby
from random import Random

import mmh3
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.jvm import hashing
from service.core.partitioners import lookup3, md5, murmur3, side_by_side
from service.core.partitioners.crc32 import CRC32
from service.core.partitioners.fnv1a import FNV1A
from service.core.partitioners.infinispan_murmur3 import DEBEZIUM
from service.core.partitioners.kafkajs_legacy import LEGACY
from service.core.partitioners.murmur2 import murmur2
from service.core.partitioners.phash2 import PHASH2
from tests.reference import hashes as twins
from tests.support import golden
from tests.support.questions import keys_of


def run(hash_):
    """The hashes of keys' bytes."""
    return lambda keys: hash_.run(keys, "base64")


KERNELS = {
    "murmur2": murmur2,
    "crc32": run(CRC32),
    "fnv1a_32": run(FNV1A),
    "kafkajs_legacy_murmur2": run(LEGACY),
    "java_string_hashcode": hashing.string_hash_codes,
    "java_arrays_hashcode": hashing.byte_array_hash_codes,
    "pulsar_murmur3_32": lambda keys: murmur3.murmur3(keys) & 0x7FFFFFFF,
    "pulsar_java_string_hash": lambda keys: hashing.string_hash_codes(keys) & 0x7FFFFFFF,
}
SEEDED = {"murmur3_x86_32": False, "spark_murmur3_x86_32": True}
UNUSED = {"crc32c", "fnv1_32", "spark_xxhash64"}
BYTES = st.lists(st.binary(max_size=40) | st.binary(min_size=50, max_size=70), max_size=8)


def algorithm(case):
    return case["algorithm"]


@pytest.mark.parametrize(
    ("name", "cases"), [(name, list(cases)) for name, cases in groupby(golden.lines("partitions/hashes"), algorithm)]
)
def test_a_kernel_gives_the_hashes_of_the_real_one(name, cases):
    if name in UNUSED:
        pytest.skip("no partitioner hashes so")
    for seed, same in groupby(cases, lambda case: case["seed"]):
        of_seed = list(same)
        keys = keys_of([base64.b64decode(case["key_base64"]) for case in of_seed])
        if name in SEEDED:
            hashes = murmur3._murmur3_x86_32(keys.offsets, keys.data, np.uint32(seed % 2**32), SEEDED[name])
        elif name == "cassandra_murmur3_x64_128":
            # A token is the first half; that of an empty key is the smallest long instead of 0.
            hashes = np.where(np.diff(keys.offsets) == 0, 0, murmur3.cassandra_tokens(keys))
        else:
            hashes = KERNELS[name](keys)
        assert hashes.tolist() == [case["signed_value"] for case in of_seed]


def md5_digests(keys):
    """The digests as bytes, in an array."""
    halves = run(md5.MD5)(keys).astype(">u8").view(np.uint8).reshape(-1, 16)
    return np.array([half.tobytes() for half in halves], object)


@pytest.mark.parametrize(
    ("kernel", "twin"),
    [
        (murmur2, twins.murmur2),
        (lambda keys: murmur2(keys, 0), lambda key: twins.murmur2(key, 0)),
        (run(CRC32), lambda key: twins.signed(zlib.crc32(key))),
        (run(FNV1A), twins.fnv1a),
        (murmur3.murmur3, mmh3.hash),
        (lambda keys: murmur3._murmur3_x86_32(keys.offsets, keys.data, np.uint32(0), False), mmh3.hash),  # also for few keys
        (run(murmur3.SPARK), twins.spark_murmur3),
        (murmur3.cassandra_tokens, twins.cassandra_token),
        (run(LEGACY), twins.kafkajs_legacy_murmur2),
        (hashing.byte_array_hash_codes, twins.array_hash_code),
        (run(PHASH2), twins.phash2),
        (run(lookup3.LOOKUP3), twins.lookup3),
        (run(lookup3.LOOKUP3_SIGNED), lambda key: twins.lookup3(key, signed_end=True)),
        (run(DEBEZIUM), lambda key: twins.infinispan_murmur3(key, 9001)),
        (run(murmur3.MAXWELL), lambda key: mmh3.hash(key, 25342)),
        (md5_digests, lambda key: hashlib.md5(key, usedforsecurity=False).digest()),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_kernel_is_its_twin(kernel, twin):
    @given(BYTES)
    def check(keys):
        assert kernel(keys_of(keys)).tolist() == [twin(key) for key in keys]

    check()


LENGTHS = st.integers(0, 31) | st.sampled_from([63, 64, 65, 71, 72, 128, 135, 140])


SIDE_BY_SIDE = {
    "murmur2": (murmur2, twins.murmur2),
    "fnv1a": (run(FNV1A), twins.fnv1a),
    "murmur3": (murmur3.murmur3, mmh3.hash),
    "spark": (run(murmur3.SPARK), twins.spark_murmur3),
    "cassandra": (murmur3.cassandra_tokens, twins.cassandra_token),
}
"""Kernels that hash keys of one length together, and their twins."""


@pytest.mark.parametrize(("kernel", "twin"), SIDE_BY_SIDE.values(), ids=SIDE_BY_SIDE)
def test_a_kernel_is_its_twin_for_many_keys_of_one_length_with_another_among_them(kernel, twin):
    @given(LENGTHS, st.integers(1, 300), st.integers(0, 299), st.binary(max_size=9), st.randoms(use_true_random=False))
    def check(length, count, place, other, random_):
        keys = [random_.randbytes(length) for _ in range(count)]
        keys[place % count] = other
        assert kernel(keys_of(keys)).tolist() == [twin(key) for key in keys]

    check()


@pytest.mark.slow
def test_kernels_for_any_cpu_give_the_same_hashes(cache):
    """As in the image, where murmur2 is another loop, and the others hash each key by itself. Pytest keeps what is compiled."""
    script = "import sys; from tests.core.partitioners.test_hashes import of_lengths; print(*of_lengths())"
    environment = {**os.environ, "NUMBA_CPU_NAME": "generic", "NUMBA_CACHE_DIR": str(cache.mkdir("kernels-for-any-cpu"))}
    command = [sys.executable, "-c", script]
    assert not side_by_side.FOR_ANY_CPU
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert [int(text) for text in done.stdout.split()] == of_lengths()


def of_lengths():
    """The hashes of keys of lengths 0 to 80, 130 each, by every kernel."""
    random_ = Random(1)
    keys = keys_of([random_.randbytes(length) for length in range(81) for _ in range(130)])
    return [hash_ for kernel, _ in SIDE_BY_SIDE.values() for hash_ in kernel(keys).tolist()]


@given(st.lists(st.binary(max_size=40).map(lambda key: bytes(byte & 0x7F for byte in key)).filter(len), max_size=8))
def test_cassandras_token_of_bytes_below_0x80_is_the_standard_murmur3(keys):
    assert murmur3.cassandra_tokens(keys_of(keys)).tolist() == [mmh3.hash64(key)[0] for key in keys]
