"""What options add to the description of a group: partition counts of topics, and members beside those described."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Final
from uuid import UUID

from service.core.documents import Json
from service.core.errors import InvalidQuestion
from service.core.printable import first_few
from service.descriptions.model import Description

ADDED: Final = "is_added"
"""A member's field: it is one of those that join."""

NAMED: Final = 5


def completed(
    description: Description, group_id: str | None, topics: Mapping[str, int], members: int | Sequence[str] | None
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
        described = [{"member_id": name, "topic_names": read} for name in _ids("member", [], members)]
        return whole.merged(Description(description.form, groups=({"group_id": group_id or "group", "members": described},)))
    chosen = [group for group in groups if group_id in (None, group["group_id"])]
    if len(chosen) != 1:
        return whole  # which the body refuses
    unread = topics.keys() - _read(chosen[0]) if topics else ()
    if unread:
        known = first_few(sorted(_read(chosen[0])), NAMED) or "no topic that is known"
        raise InvalidQuestion(f"Group {chosen[0]['group_id']!r} does not read {min(unread)!r}; it reads {known}.")
    if members is None:
        return whole
    counted = {**chosen[0], "members": _counted(chosen[0].get("members") or (), members)}
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


def _read(group: Json) -> set[str]:
    """The topics that the group reads, as far as its description tells."""
    owned, listed = rows_of(group)
    return (
        {name for member in group.get("members", ()) for name in member.get("topic_names") or ()} | owned.keys() | listed.keys()
    )


def _counted(described: Sequence[Json], members: int | Sequence[str]) -> list[Json]:
    """The members described, as many as there are to be or those named, and further ones."""
    if isinstance(members, int):
        stay = list(described[:members])
        names = _ids(str(described[-1].get("client_id") or "member") if described else "member", described, members)
    else:
        stay = [member for member in described if member["member_id"] in members]
        known = {member["member_id"] for member in stay}
        names = [name for name in members if name not in known]
    like_the_last = {name: described[-1][name] for name in ("topic_names",) if described and described[-1].get(name)}
    return [*stay, *({"member_id": name, ADDED: True, **like_the_last} for name in names)]


def _ids(client_id: str, described: Sequence[Json], members: int | Sequence[str]) -> list[str]:
    """The ids of further members, drawn as Java's client draws them: ``<client.id>-<uuid>``."""
    if not isinstance(members, int):
        return list(members)
    draw = Random(len(described))  # noqa: S311 - no secret
    return [f"{client_id}-{UUID(int=draw.getrandbits(128), version=4)}" for _ in range(members - len(described))]
