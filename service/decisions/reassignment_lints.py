"""What is wrong with a reassignment: the question, and its answer."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from service.core.kafka_versions import LATEST
from service.core.model import NONE, Ragged, indices_in
from service.decisions.budget import Budget
from service.decisions.figures import Figures
from service.decisions.reassignments.rows import read_current, room_for
from service.planner.reassignments.lint import LintFinding, Reassigned, conclusion, lint
from service.planner.reassignments.model import Brokers, Placements, rackless


@dataclass(frozen=True)
class LintQuestion:
    """A reassignment, and the cluster that it is for.

    brokers, topics, reassigned : rows (see ``reassignments.rows``: TARGET_BROKER, PLACED_TOPIC, REASSIGNED), each well-formed
    kafka_version : of the brokers; the findings are the same for all releases
    racks_accepted : whether it says that racks are not known
    """

    brokers: pa.StructArray
    topics: pa.StructArray
    reassigned: pa.StructArray
    kafka_version: str = LATEST
    racks_accepted: bool = False


@dataclass(frozen=True)
class LintAnswer:
    """The findings by row, at most MAX_ERRORS of one rule and severity.

    question : the one that was answered; counts : severity → how many there are; figures : see Figures
    conclusion, warnings : sentences
    """

    question: LintQuestion
    findings: list[LintFinding]
    counts: dict[str, int]
    figures: Figures
    conclusion: str
    warnings: list[str]


def answer(question: LintQuestion, budget: Budget) -> LintAnswer:
    """Lint the reassignment. Raises InvalidQuestion, and what the budget raises."""
    replicas = len(question.reassigned.field("replicas").flatten())
    brokers, placements = read_current(question.brokers, question.topics, budget, replicas)
    budget.check("max_assignment_cells", (replicas + len(placements.replicas.values)) * len(brokers), "replicas × brokers")
    budget.reserve(2 * 13 * len(brokers) ** 2 + 400 * len(question.reassigned))
    reassigned = _read_reassigned(question.reassigned, brokers, placements)
    if placements.sizes is not None:
        capacities = room_for(question.brokers, brokers.capacity_bytes, placements.replicas, placements.sizes, 1.0)
        brokers = replace(brokers, capacity_bytes=capacities)
    result = lint(brokers, placements, reassigned)
    said = conclusion(result, brokers, placements, reassigned, racks_accepted=question.racks_accepted)
    warnings = list(rackless(brokers.cluster, brokers.listed))
    figures = Figures("lint", {"partitions": len(reassigned.partition_ids), "brokers": len(brokers)})
    return LintAnswer(question, result.findings, result.counts, figures, said, warnings)


def _read_reassigned(rows: pa.StructArray, brokers: Brokers, placements: Placements) -> Reassigned:
    """The rows of type REASSIGNED."""
    names, ids = rows.field("topic"), np.array(rows.field("partition"), np.int32)
    known_names = pa.array(placements.topic_names, names.type)
    topics = np.array(pc.fill_null(pc.index_in(names, known_names), NONE), np.int32)
    partitions = indices_in(_keys(placements.topics, placements.partition_ids), _keys(topics, ids))
    broker_ids = np.array(rows.field("replicas").flatten(), np.int32)
    lengths = np.array(pc.list_value_length(rows.field("replicas")), np.int64)
    replicas = Ragged.of_lengths(lengths, indices_in(brokers.cluster.broker_ids, broker_ids))
    return Reassigned(names.to_pylist(), ids, partitions, topics != NONE, broker_ids, replicas)


def _keys(topics: Any, ids: Any) -> Any:
    """int64[...], a number for each topic and partition."""
    return topics.astype(np.int64) << 32 | ids.astype(np.int64)
