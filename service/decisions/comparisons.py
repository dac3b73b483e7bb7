"""The same keys through several clients' partitioners: the question, and its answer."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

from service.core.budget import Budget, Figures
from service.core.kafka_versions import LATEST
from service.core.printable import counted
from service.decisions import keys as key_values
from service.decisions.partitions import chosen
from service.decisions.rows import faults_of, raise_all
from service.planner.attribution.agreement import PartitionerComparison, compare

EXAMPLE_BYTES: Final = 1_000
"""Memory for each key that is shown for a disagreement, beside its text. Measured: 890."""

TEXT_FACTOR: Final = 12
"""The same for each character of it: six bytes in JSON, and a copy while that grows."""


@dataclass(frozen=True)
class ComparisonQuestion:
    """Keys of one topic, and the partitioners to compare; None: all.

    keys : a list as JSON has it, or a column of Arrow's (see ``key_values.read``)
    examples : most keys that are shown for each disagreement
    """

    partitions_count: int
    keys: Any
    partitioners: list[str] | None = None
    key_format: str | None = None
    examples: int = 3
    kafka_version: str = LATEST


@dataclass(frozen=True)
class ComparisonAnswer:
    """Which partitioners agree."""

    question: ComparisonQuestion
    result: PartitionerComparison

    @property
    def figures(self) -> Figures:
        """See Figures."""
        return Figures("all" if self.question.partitioners is None else "chosen", {"keys": self.result.records})

    @property
    def conclusion(self) -> str:
        """How often the partitioners agree, in a sentence."""
        classes, pairs = self.result.classes, self.result.pairs
        count = sum(len(each.names) for each in classes)
        if count < 2:
            return "There is nothing to compare: fewer than two of these partitioners hash such keys."
        if not pairs:
            return f"{counted(count, 'partitioner')}: no two of them put a key on different partitions."
        shares = [pair.agreeing / pair.keys for pair in pairs if pair.keys]
        if not shares:
            return "There is nothing to compare: no record has a key."
        chance = f"two unrelated hash functions agree on {agreement_text(1 / self.question.partitions_count)} by chance"
        if len(pairs) == 1:
            compared, records = pairs[0].keys, self.result.records
            of = f"the {counted(compared, 'record')} compared{f', of {records:,}' if compared < records else ''}"
            names = " and ".join(each.names[0] for each in classes)
            return f"{names} agree on {agreement_text(shares[0])} of {of}; {chance}."
        same = f"{shares.count(1):,} of the {len(shares):,} pairs agree on every record compared"
        return f"{counted(count, 'partitioner')}, {len(classes):,} of them different: {same}; {chance}."


def agreement_text(value: float) -> str:
    """A share: never 100 % of what is not all, nor 0 % of something."""
    return "over 99.99%" if 0.99995 <= value < 1 else "under 0.01%" if 0 < value < 0.00005 else f"{value:.2%}"


def answer(question: ComparisonQuestion, budget: Budget) -> ComparisonAnswer:
    """Compare the partitioners. Raises InvalidQuestion, and what the budget raises."""
    budget.check("max_keys", len(question.keys), "keys", "keys")
    faults = [*faults_of(lambda: chosen(question.partitioners))]
    if faults:
        raise_all((*faults, *faults_of(lambda: key_values.read(question.keys, question.key_format, budget))))
    column, key_format = key_values.read(question.keys, question.key_format, budget)
    partitioners, count = chosen(question.partitioners), question.partitions_count
    result = compare(partitioners, column, key_format, count, question.examples)
    _reserve_examples(question, result, budget)
    return ComparisonAnswer(question, result)


def _reserve_examples(question: ComparisonQuestion, result: PartitionerComparison, budget: Budget) -> None:
    """Two classes each may show the same key."""
    shown = Counter(example.row for pair in result.pairs for example in pair.examples)
    texts = sum(times * len(str(key_values.json_value(question.keys, row))) for row, times in shown.items())
    budget.reserve(EXAMPLE_BYTES * shown.total() + TEXT_FACTOR * texts)
