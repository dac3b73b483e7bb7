"""Whether two topics can be joined: the question, and its answer."""

from dataclasses import dataclass
from typing import Any

from service.core.errors import InvalidQuestion, raise_all
from service.core.partitioners import PARTITIONERS
from service.decisions.budget import Budget
from service.decisions.figures import Figures
from service.planner.attribution.copartitioning import Copartitioning, Topic, check, copartitioning


@dataclass(frozen=True)
class CoPartitioningQuestion:
    """Two topics that are to be joined: ``{topic_name, partitions_count, partitioner, key_format}`` each, named or not."""

    kafka_version: str
    topics: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class CoPartitioningAnswer:
    """Whether equal keys meet, and what keeps them apart."""

    question: CoPartitioningQuestion
    result: Copartitioning
    figures: Figures = Figures("streams", {"topics": 2})  # noqa: RUF009 - a tuple


def answer(question: CoPartitioningQuestion, _: Budget) -> CoPartitioningAnswer:
    """Compare the topics. Raises InvalidQuestion."""
    first, second = _topics(question.topics)
    if first.topic_name == second.topic_name:
        raise InvalidQuestion(f"Duplicate topic_name {first.topic_name!r}.", "topics", 1, "topic_name")
    return CoPartitioningAnswer(question, copartitioning(first, second))


def _topics(rows: tuple[dict[str, Any], ...]) -> list[Topic]:
    topics, faults = [], []
    for i, row in enumerate(rows):
        try:
            partitioner = PARTITIONERS[row["partitioner"]]
            name = row.get("topic_name", ("first", "second")[i])
            topics.append(Topic(name, row["partitions_count"], partitioner, row["key_format"]))
            check(topics[-1])
        except InvalidQuestion as error:
            error.field = ("topics", i, *error.field)
            faults.append(error)
    raise_all(faults)
    return topics
