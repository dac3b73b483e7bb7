"""What options add to the description of a group: partition counts of topics, and members beside those described."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from service.core.documents import Json
from service.core.errors import InvalidQuestion
from service.core.printable import counted, first_few
from service.decisions.budget import Budget
from service.decisions.groups.answer import answer
from service.decisions.groups.outcomes import Range
from service.decisions.groups.question import of_rows
from service.descriptions.model import Description
from service.planner.member_ids import IdDraw, default_client_id

ADDED: Final = "is_added"
"""A member's field: it is one of those that join."""

NAMED: Final = 5

DRAWS: Final = 50
MOST_CELLS: Final = 4_000_000
"""Partitions × members × draws up to which several draws are compared."""


def completed(
    description: Description,
    group_id: str | None,
    topics: Mapping[str, int],
    members: int | Sequence[str] | None,
    number: int = 0,
) -> Description:
    """The description with these partition counts, and a group with so many members, or with those of these ids.

    Members that are described stay, the first ones if there are more. Further ones own nothing and subscribe as the last one. If
    no group is described, the members read the topics given, or else all that are described, without Kafka's own.
    Raises InvalidQuestion for a topic that the group does not read.
    """
    rows = tuple({"topic_name": name, "partitions_count": count} for name, count in topics.items())
    whole = description.merged(Description(description.form, topics=rows)) if rows else description
    groups = description.groups
    if members is not None and not groups:
        read = list(topics) or [topic["topic_name"] for topic in description.topics if not topic["topic_name"].startswith("__")]
        if not read:
            raise InvalidQuestion("Neither topics nor a group are known: give --topic.")
        empty: Json = {"group_id": group_id or "group"}
        described = [{**member, "topic_names": read} for member in _counted(empty, members, number)]
        return whole.merged(Description(description.form, groups=({**empty, "members": described},)))
    chosen = [group for group in groups if group_id in (None, group["group_id"])]
    if len(chosen) != 1:
        return whole  # which the body refuses
    unread = topics.keys() - topics_read(chosen[0]) if topics else ()
    if unread:
        known = first_few(sorted(topics_read(chosen[0])), NAMED) or "no topic that is known"
        raise InvalidQuestion(f"Group {chosen[0]['group_id']!r} does not read {min(unread)!r}; it reads {known}.")
    if members is None:
        return whole
    counted = {**chosen[0], "members": _counted(chosen[0], members, number)}
    return replace(whole, groups=tuple(counted if group is chosen[0] else group for group in groups))


def rows_of(group: Json) -> tuple[dict[str, set[int]], dict[str, set[int]]]:
    """topic_name → partition ids that members own, and those with a row among the group's offsets."""
    owned: dict[str, set[int]] = {}
    for member in group.get("members", ()):
        for part in member.get("owned_partitions") or ():
            owned.setdefault(part["topic_name"], set()).update(part["partition_ids"])
    listed: dict[str, set[int]] = {}
    for part in group.get("committed_offsets", ()):
        listed.setdefault(part["topic_name"], set()).update(part["partition_ids"])
    return owned, listed


def topics_read(group: Json) -> set[str]:
    """The topics that the group reads, as far as its description tells."""
    owned, listed = rows_of(group)
    return (
        {name for member in group.get("members", ()) for name in member.get("topic_names") or ()} | owned.keys() | listed.keys()
    )


def _counted(group: Json, members: int | Sequence[str], number: int) -> list[Json]:
    """The members described, as many as there are to be or those named, and further ones. number : of the draw of their ids"""
    described = group.get("members") or ()
    if isinstance(members, int):
        stay, names = list(described[:members]), drawn_ids(group, members - len(described), number)
    else:
        stay = [member for member in described if member["member_id"] in members]
        known = {member["member_id"] for member in stay}
        names = [name for name in members if name not in known]
    like_the_last = {"topic_names": described[-1]["topic_names"]} if described and described[-1].get("topic_names") else {}
    return [*stay, *({"member_id": name, ADDED: True, **like_the_last} for name in names)]


def drawn_ids(group: Json, count: int, number: int) -> list[str]:
    """The ids of further members. number : of the draw"""
    present = [member["member_id"] for member in group.get("members") or ()]
    draw = IdDraw(number=number, client_id=default_client_id(group.get("client"), group["group_id"]))
    return draw.further(present, max(0, count), group.get("group_protocol", "classic"), present)


def moves_of_draws(group: Json, body: Json) -> str | None:
    """How many partitions move over several draws of the ids of members that join, in a sentence; None if none joins.

    group : as described, without them; body : of ``POST /v1/group-assignments``, with them
    """
    present = {member["member_id"] for member in group.get("members", ())}
    stay = [member for member in body["members"] if member["member_id"] in present]
    joining = body["members"][len(stay) :]
    cells = len(body["members"]) * sum(topic["partitions_count"] for topic in body["topics"])
    if not joining or not any(member.get("owned_partitions") for member in stay) or cells * DRAWS > MOST_CELLS:
        return None
    moved = []
    for number in range(DRAWS):
        ids = drawn_ids(group, len(joining), number)
        members = [*stay, *({**member, "member_id": name} for member, name in zip(joining, ids, strict=True))]
        moved.append(answer(of_rows(**{**body, "members": members}), Budget()).settled.movement.moved)
    ids_of = f"the ids that {counted(len(joining), 'new member draws', 'new members draw')}"
    return f"What moves depends on {ids_of}: in {DRAWS} draws {Range.of(moved)} partitions move. The answer is the first draw."
