"""Records without a key that are placed without a counter and without random numbers."""

from service.core.keys import columns
from service.core.model import Int32s, Int64s
from service.core.partitioners.model import Answer, Hash, NullRule, Question
from service.core.partitioners.murmur3 import SPARK_SEED


def _keep(_question: Question, _rows: Int64s, partitions: Int32s) -> Answer:
    return Answer(partitions)


NO_NULL = NullRule("refused: there is always a key", _keep)
SPARK_NULL = NullRule("the hash is 42, the seed", _keep, because="the hash of null is 42", counts_as=lambda: SPARK_SEED)
ZERO = NullRule("0", _keep, because="null is 0", counts_as=lambda: 0)


def as_empty(hash_keys: Hash) -> NullRule:
    """A record without a key is hashed as one with an empty key."""
    return NullRule(
        "as an empty key",
        _keep,
        because=f"as an empty key, {hash_keys.name}",
        counts_as=lambda: int(hash_keys.run(columns.byte_strings([b""]), "base64")[0]),
    )
