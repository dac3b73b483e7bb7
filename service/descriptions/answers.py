"""Texts that people paste → what was read of them: the question, and its answer; and in words what is known and what not."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

from service.core.budget import Budget, Figures
from service.core.documents import Json
from service.core.errors import InvalidQuestion
from service.core.printable import all_of, counted, first_few
from service.descriptions import bodies
from service.descriptions.model import Description, UnreadableDescription
from service.descriptions.pasted import read_description

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
            found.append(read_description(text))
        except UnreadableDescription as error:
            raise InvalidQuestion(error.detail, "texts", i) from None
    whole = reduce(Description.merged, found)
    made, missing = _bodies(whole) if question.bodies else (None, [])
    forms = tuple(dict.fromkeys(each.form for each in found))
    return DescriptionsAnswer(whole, forms, understood(whole), (*whole.notes, *missing), made)


def _bodies(description: Description) -> tuple[Json, list[str]]:
    """Request bodies that the description makes, and why one that it could make is missing."""
    made: Json = {"reassignment": None, "log_dir_plan": None, "group_assignments": []}
    missing, has_placements = [], any("placements" in topic for topic in description.topics)
    possible = (
        ("reassignment", bodies.reassignment, has_placements),
        ("log_dir_plan", bodies.log_dir_plan, description.log_dirs),
    )
    for name, make, told in possible:
        try:
            made[name] = make(description) if told else None
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


NAMED = 3
"""Most names in a sentence."""


def understood(description: Description) -> str:
    """``Read 40 topics (805 partitions) on 12 brokers and 1 group of 25 members with its lag. Racks are not known.``"""
    disks = f"the log directories of {counted(len(description.log_dirs), 'broker')}" if description.log_dirs else ""
    parts = [part for part in (*_topics(description), _groups(description), disks) if part]
    return " ".join((f"Read {all_of(parts, len(parts)) if parts else 'nothing'}.", *_unknown(description)))


def _topics(description: Description) -> Iterator[str]:
    """The topics and the brokers."""
    topics = description.topics
    rows = [placed for topic in topics for placed in topic.get("placements") or ()]
    used = {broker for row in rows for broker in (*row["replicas"], *row.get("removing_replicas", ()))}
    known = used | {broker["broker_id"] for broker in description.brokers}
    brokers = counted(len(known), "broker")
    on = f" on {f'{len(used):,} of ' * (len(used) < len(known))}{brokers}" if used else ""
    counts = [count for topic in topics if (count := partitions_of(topic)) is not None]
    partitions = f" ({counted(sum(counts), 'partition')})" if len(counts) == len(topics) else ""
    if topics:
        yield f"{counted(len(topics), 'topic')}{partitions}{on}"
    if known and not used:
        yield brokers


def partitions_of(topic: Json) -> int | None:
    """How many partitions a topic has; None if that is not known."""
    count: int | None = topic.get("partitions_count")
    return len(topic["placements"]) if count is None and topic.get("placements") else count


def _groups(description: Description) -> str:
    groups = description.groups
    if not groups:
        return ""
    members = [len(group["members"]) for group in groups if "members" in group]
    of = f" of {counted(sum(members), 'member')}" if len(members) == len(groups) else ""
    with_lag = sum(_has_lag(group, description) for group in groups)
    its = "its" if with_lag == 1 else "their"
    lag = f" with {its} lag" if with_lag == len(groups) else f", {with_lag} with {its} lag" if with_lag else ""
    return f"{counted(len(groups), 'group')}{of}{lag}"


def _has_lag(group: Json, description: Description) -> bool:
    return any(lag is not None for lag in bodies.lags_of(group, description).values())


def _unknown(description: Description) -> Iterator[str]:
    """What is not known of what was read."""
    brokers = description.brokers
    without = [str(broker["broker_id"]) for broker in brokers if not broker.get("rack_id")]
    if without and len(without) == len(brokers):
        yield "Racks are not known."
    elif without:
        racks = "The racks of brokers {} are" if len(without) > 1 else "The rack of broker {} is"
        yield f"{racks.format(first_few(without, NAMED))} not known."
    uncounted = [topic["topic_name"] for topic in description.topics if partitions_of(topic) is None]
    if uncounted:  # they may be inferred
        are = "counts of {} are" if len(uncounted) > 1 else "count of {} is"
        yield f"The partition {are.format(first_few(uncounted, NAMED))} not listed."
    with_lag = [group for group in description.groups if _has_lag(group, description)]
    lags = [lag for group in with_lag for lag in bodies.lags_of(group, description).values()]
    partitions, missing = len(lags), lags.count(None)
    if description.groups and not lags:
        yield "Lag is not known."
    elif missing:
        lacks = f"{missing:,} of {counted(partitions, 'partition')}"
        yield f"The lag of {lacks} is not known, for want of a committed offset or a log end."
    unlisted = [group["group_id"] for group in description.groups if "members" not in group]
    if unlisted:
        yield f"The members of {first_few(unlisted, NAMED)} are not known."
