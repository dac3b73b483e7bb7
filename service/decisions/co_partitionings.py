"""Whether two topics can be joined: the question, and its answer."""

from dataclasses import dataclass
from typing import Any

from service.core.errors import InvalidQuestion, raise_all
from service.core.partitioners import PARTITIONERS
from service.core.printable import all_of
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

    @property
    def conclusion(self) -> str:
        """Whether equal keys meet, what keeps them apart, and what Kafka Streams makes of it."""
        result, names = self.result, " and ".join(topic.topic_name for topic in _topics(self.question.topics))
        if result.joinable:
            return f"{names} are co-partitioned: each key is on the same partition of both."
        apart = all_of([difference.what.replace("_", " ") for difference in result.differences], len(result.differences))
        starts = "starts all the same and misses matches" if result.streams_message is None else "does not start"
        return (
            f"{names} are not co-partitioned, because of {apart}: {result.meeting:.1%} of equal keys are expected on the same "
            f"partition of both. Kafka Streams {starts}."
        )


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
