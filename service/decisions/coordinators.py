"""Which partition coordinates an id: the question, and its answer."""

from dataclasses import dataclass
from typing import Any

from service.core import coordinators
from service.core.coordinators import Coordinator
from service.core.errors import InvalidQuestion
from service.decisions.budget import Budget
from service.decisions.figures import Figures


@dataclass(frozen=True)
class CoordinatorQuestion:
    """One of three kinds of id; the others are None.

    share_partition : ``{group_id, topic_id, partition}``, the topic id in either alphabet of base64
    partitions_count : of the topic that holds the coordinators' state
    """

    kafka_version: str
    partitions_count: int
    group_id: str | None = None
    transactional_id: str | None = None
    share_partition: dict[str, Any] | None = None
    explain: bool = False


@dataclass(frozen=True)
class CoordinatorAnswer:
    """The coordinator of the id."""

    question: CoordinatorQuestion
    coordinator: Coordinator
    figures: Figures = Figures("coordinator", {"ids": 1})  # noqa: RUF009 - a tuple


def answer(question: CoordinatorQuestion, _: Budget) -> CoordinatorAnswer:
    """The coordinator of the one id. Raises InvalidQuestion for none or several."""
    ids = (question.group_id, question.transactional_id, question.share_partition)
    given = sum(each is not None for each in ids)
    if given != 1:
        raise InvalidQuestion(f"Give one of group_id, transactional_id and share_partition, not {given}.")
    return CoordinatorAnswer(question, _coordinator(question))


def _coordinator(question: CoordinatorQuestion) -> Coordinator:
    count = question.partitions_count
    if question.group_id is not None:
        return coordinators.of_group(question.group_id, count)
    if question.transactional_id is not None:
        return coordinators.of_transaction(question.transactional_id, count)
    share = question.share_partition or {}
    url_safe = share["topic_id"].translate(str.maketrans("+/", "-_"))
    return coordinators.of_share_partition(**{**share, "topic_id": url_safe}, partitions_count=count)
