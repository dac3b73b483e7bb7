"""Which partitions of a cluster are at risk: the question, and its answer."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from service.core.kafka_versions import LATEST
from service.decisions.budget import Budget
from service.decisions.figures import Figures
from service.decisions.reassignments.rows import read_current
from service.planner.placement_checks import PlacementCheck, check_placements, conclusion, warnings


@dataclass(frozen=True)
class CheckQuestion:
    """A cluster as it is.

    brokers, topics : rows (see ``reassignments.rows``: TARGET_BROKER, PLACED_TOPIC), each well-formed
    kafka_version : of the brokers; the answer is the same for all releases
    """

    brokers: pa.StructArray
    topics: pa.StructArray
    kafka_version: str = LATEST


@dataclass(frozen=True)
class CheckAnswer:
    """The state of the cluster, also in sentences: what is at risk, and what was assumed or is unusual."""

    question: CheckQuestion
    check: PlacementCheck
    conclusion: str
    warnings: list[str]

    @property
    def figures(self) -> Figures:
        """See Figures."""
        return Figures("check", {"partitions": len(self.check.placements), "brokers": len(self.check.brokers)})


def answer(question: CheckQuestion, budget: Budget) -> CheckAnswer:
    """Check the cluster. Raises InvalidQuestion, and what the budget raises."""
    brokers, placements = read_current(question.brokers, question.topics, budget)
    in_sync = question.topics.field("placements").flatten().field("in_sync_replicas")
    check = check_placements(brokers, placements, np.array(pc.is_valid(in_sync), np.bool_))
    return CheckAnswer(question, check, conclusion(check), list(warnings(check)))
