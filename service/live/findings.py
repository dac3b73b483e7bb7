"""What a verification finds for one group, topic or sample of keys."""

from dataclasses import asdict, dataclass, field
from typing import Literal

from service.core.documents import Json

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
