"""What a verification finds for one group, topic or sample of keys."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Final, Literal

from service.core.documents import Json
from service.core.printable import first_few

Verdict = Literal["alike", "differs", "not_checked"]


@dataclass(frozen=True)
class Finding:
    """The outcome for one group or topic.

    kind : "group", "topic" or "keys"
    by : the assignor, the placer or the partitioner
    differences : the first of them, of differences_count
    """

    kind: str
    name: str
    by: str
    verdict: Verdict
    reason: str
    differences_count: int = 0
    differences: list[Json] = field(default_factory=list)

    def document(self) -> Json:
        """The finding as JSON."""
        return asdict(self)


NAMED: Final = 5
"""Findings that a sentence names at most."""


_SENTENCES: Final[dict[Verdict, tuple[str, str, str]]] = {
    "differs": ("differs", "differ", " from what Kafka would have done: {names}"),
    "alike": ("is", "are", " as Kafka would have it"),
    "not_checked": ("was", "were", " not checked: {names}"),
}
"""The verb of one, and of several; what follows."""


def conclusion(findings: Sequence[Finding]) -> str:
    """What differs, what is alike and what was not checked, each with its number."""
    sentences = []
    for verdict, (one, several, rest) in _SENTENCES.items():
        names = [f"{each.kind} {each.name}" for each in findings if each.verdict == verdict]
        if names:
            count, verb = f"{len(names):,} of {len(findings):,}", one if len(names) == 1 else several
            sentences.append(f"{count} {verb}{rest.format(names=first_few(names, NAMED))}.")
    return " ".join(sentences) or "Nothing was found that could be compared with what Kafka would have done."
