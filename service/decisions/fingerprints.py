"""Which partitioner wrote a topic, and to how many partitions: the question, and its answer."""

from dataclasses import dataclass
from typing import Any, Final

from service.core.budget import Budget, Figures
from service.core.errors import InvalidQuestion
from service.core.kafka_versions import LATEST
from service.core.keys.columns import Column, data_bytes
from service.core.model import Int32s
from service.core.printable import counted
from service.decisions import keys as key_values
from service.decisions.partitions import chosen
from service.decisions.rows import faults_of, raise_all
from service.planner.attribution.conclusions import conclusion
from service.planner.attribution.equivalents import most_hashing_bytes
from service.planner.attribution.fingerprints import Fingerprint, fingerprint
from service.planner.attribution.observations import KeyObservations, observe

MOST_COUNTS: Final = 100_000
"""Most partitions that are tried if the count is not given."""

COUNT_BYTES: Final = 2_800
"""Memory for each partition count that is tried. Measured for 100,000 counts, all partitioners and what no client does: 2,640."""

PAIR_BYTES: Final = 64
"""Memory for each observation while pairs are made of them, beside a copy of its key."""

DEFAULT_COUNTS: Final = 4_096
"""At least this many are tried, unless the caller says how many."""


@dataclass(frozen=True)
class FingerprintQuestion:
    """Records that were seen.

    keys : a list as JSON has it, or a column of Arrow's (see ``key_values.read``)
    partition_ids : int32[n], the partition that each was seen on
    partitions_count : the topic's when the records were written; None: unknown, at most ``max_partitions_count``
    partitioners : None: all
    schema_ids : of the schema registry, that may stand before the keys; None: small ones are tried
    max_candidates, examples : most candidates, and most records of each writer, that are listed
    explain : whether to tell for each record which writers explain it
    """

    keys: Any
    partition_ids: Int32s
    partitions_count: int | None = None
    max_partitions_count: int | None = None
    key_format: str | None = None
    partitioners: list[str] | None = None
    schema_ids: list[int] | None = None
    max_candidates: int = 20
    examples: int = 3
    kafka_version: str = LATEST
    explain: bool = False


@dataclass(frozen=True)
class FingerprintAnswer:
    """What the records say."""

    question: FingerprintQuestion
    observations: KeyObservations
    result: Fingerprint

    @property
    def conclusion(self) -> str:
        """The verdict in words."""
        return conclusion(self.result, self.observations)

    @property
    def figures(self) -> Figures:
        """See Figures."""
        return Figures("all" if self.question.partitioners is None else "chosen", {"keys": len(self.question.partition_ids)})


def answer(question: FingerprintQuestion, budget: Budget) -> FingerprintAnswer:
    """Find the writers. Raises InvalidQuestion (all faults at once), and what the budget raises."""
    observed = len(question.partition_ids)
    if question.explain:
        budget.check("max_explained", observed, "observations to be explained", "explain")
    if not observed:
        raise_all(
            (*faults_of(lambda: chosen(question.partitioners)), InvalidQuestion("There are no observations.", "observations"))
        )
    budget.check("max_keys", observed, "keys", "observations")
    faults = [*faults_of(lambda: chosen(question.partitioners), lambda: _possible(question))]
    if faults:
        raise_all((*faults, *faults_of(lambda: _keys(question, budget))))
    column, key_format = _keys(question, budget)
    counts = _possible(question)
    budget.reserve(COUNT_BYTES * len(counts) + PAIR_BYTES * observed + data_bytes(column) + most_hashing_bytes(column))
    observations = observe(column, key_format, question.partition_ids)
    result = fingerprint(
        chosen(question.partitioners),
        observations,
        counts,
        question.max_candidates,
        question.examples,
        schema_ids=question.schema_ids,
        all_suspects=question.partitioners is None,
    )
    return FingerprintAnswer(question, result.observations, result)


def _keys(question: FingerprintQuestion, budget: Budget) -> tuple[Column, str]:
    with key_values.fields_of(keys=("observations", "key")):
        return key_values.read(question.keys, question.key_format, budget)


def _possible(question: FingerprintQuestion) -> range:
    """The partition counts that the request and the observations leave possible."""
    partition_ids = question.partition_ids
    row = int(partition_ids.argmax())
    least = int(partition_ids[row]) + 1
    count = question.partitions_count
    if count is not None:
        if question.max_partitions_count is not None:
            raise InvalidQuestion("Not allowed together with partitions_count.", "max_partitions_count")
        if least > count:
            raise InvalidQuestion(f"Partition {least - 1} is not in [0, {count}).", "observations", row, "partition_id")
        return range(count, count + 1)
    most = question.max_partitions_count or min(max(DEFAULT_COUNTS, 2 * least), MOST_COUNTS)
    if least > MOST_COUNTS:
        raise InvalidQuestion(
            f"Partition {least - 1} was observed, and at most {MOST_COUNTS} partitions are tried: set partitions_count.",
            "observations", row, "partition_id",
        )  # fmt: skip
    if least > most:
        raise InvalidQuestion(
            f"Partition {least - 1} was observed, so there are more than {counted(most, 'partition')}.", "max_partitions_count"
        )
    return range(least, most + 1)
