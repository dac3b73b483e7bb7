"""Texts that people paste → what was read of them: the question, and its answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

from service.core.documents import Json
from service.core.errors import InvalidQuestion
from service.decisions.budget import Budget
from service.decisions.figures import Figures
from service.descriptions import bodies
from service.descriptions.model import Description, UnreadableDescription
from service.descriptions.pasted import read_description
from service.descriptions.understood import partitions_of, understood

TEXT_BYTES: Final = 60
"""Memory for each byte of a text while it is read, with what is made of it. Measured: 45 of kafka-topics."""

MOST_GROUPS: Final = 100
"""Most groups of which request bodies are made."""


@dataclass(frozen=True)
class DescriptionsQuestion:
    """Texts of one cluster; later ones complete earlier ones. bodies : whether to make request bodies of them, too"""

    texts: Sequence[str]
    bodies: bool = False


@dataclass(frozen=True)
class DescriptionsAnswer:
    """What was read.

    forms : of the texts
    bodies : request bodies by name, null where the description does not suffice; None if they are not asked for
    warnings : what was skipped, and why a body is missing
    """

    description: Description
    forms: tuple[str, ...]
    conclusion: str
    warnings: tuple[str, ...]
    bodies: Json | None = None

    @property
    def figures(self) -> Figures:
        """See Figures."""
        counts = map(partitions_of, self.description.topics)
        return Figures("+".join(self.forms), {"partitions": sum(count for count in counts if count is not None)})


def answer(question: DescriptionsQuestion, budget: Budget) -> DescriptionsAnswer:
    """Read the texts. Raises InvalidQuestion for one of which nothing is read, and what the budget raises."""
    budget.reserve(TEXT_BYTES * sum(map(len, question.texts)))
    found = []
    for i, text in enumerate(question.texts):
        try:
            found.append(read_description(text, budget.check_time))
        except UnreadableDescription as error:
            raise InvalidQuestion(error.detail, "texts", i) from None
    whole = reduce(Description.merged, found)
    made, missing = _bodies(whole) if question.bodies else (None, [])
    forms = tuple(dict.fromkeys(each.form for each in found))
    return DescriptionsAnswer(whole, forms, understood(whole), (*whole.notes, *missing), made)


def _bodies(description: Description) -> tuple[Json, list[str]]:
    """Request bodies that the description makes, and why one that it could make is missing."""
    made: Json = {"reassignment": None, "log_dir_plan": None, "group_assignments": []}
    missing = []
    if any("placements" in topic for topic in description.topics):
        try:
            made["reassignment"] = bodies.reassignment(description)
        except InvalidQuestion as error:
            missing.append(error.detail)
    if description.log_dirs:
        try:
            made["log_dir_plan"] = bodies.log_dir_plan(description)
        except InvalidQuestion as error:
            missing.append(error.detail)
    if len(description.groups) > MOST_GROUPS:
        missing.append(f"Bodies are made of the first {MOST_GROUPS} of {len(description.groups)} groups.")
    for group in description.groups[:MOST_GROUPS]:
        try:
            body, assumed = bodies.assumed_group(description, group["group_id"])
        except InvalidQuestion as error:
            missing.append(error.detail)
            continue
        body["topics"] = bodies.with_lag(body["topics"], description, group["group_id"])
        made["group_assignments"].append(body)
        missing += [f"Group {group['group_id']!r}: {sentence}" for sentence in assumed]
    return made, missing
