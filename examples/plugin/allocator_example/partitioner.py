"""Keys of the form ``tenant:rest``, partitioned by tenant."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from service.core.keys.columns import SERIALIZED, byte_strings
from service.core.partitioners import Partitioner
from service.core.partitioners.allocation import MASK, by_hash
from service.core.partitioners.drawing import RANDOM
from service.core.partitioners.explicit import CHECKED
from service.core.partitioners.hashing_rule import Hash
from service.core.partitioners.murmur2 import murmur2

if TYPE_CHECKING:
    from service.core.model import Int32s, Keys


def tenant_hashes(keys: Keys, _key_format: str) -> Int32s:
    """Kafka's murmur2 of each key up to its first colon: int32[n]."""
    data = keys.data.tobytes()
    return murmur2(byte_strings([data[start:end].partition(b":")[0] for start, end in pairwise(keys.offsets.tolist())]))


TENANT = Partitioner(
    name="tenant",
    run=by_hash,
    summary="murmur2 of the key up to its first colon, mask; no key: a random available partition.",
    setting="partitioner.class",
    hash=Hash("murmur2 of the tenant", tenant_hashes),
    sign=MASK,
    null=RANDOM,
    empty_key="hashed",
    explicit=CHECKED,
    encoding=SERIALIZED,
    options=RANDOM.options,
)
