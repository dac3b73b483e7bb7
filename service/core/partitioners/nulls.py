"""Records without a key that have a fixed hash, or are refused."""

from service.core.keys import columns
from service.core.partitioners.hashing_rule import Hash
from service.core.partitioners.model import NullRule
from service.core.partitioners.murmur3 import SPARK_SEED

NO_NULL = NullRule("refused: there is always a key", None)
SPARK_NULL = NullRule("the hash is 42, the seed", None, because="the hash of null is 42", counts_as=lambda: SPARK_SEED)
ZERO = NullRule("0", None, because="null is 0", counts_as=lambda: 0)


def as_empty(hash_keys: Hash) -> NullRule:
    """A record without a key is hashed as one with an empty key."""
    return NullRule(
        "as an empty key",
        None,
        because=f"as an empty key, {hash_keys.name}",
        counts_as=lambda: int(hash_keys.run(columns.byte_strings([b""]), "base64")[0]),
    )
