"""Which topics the members of a group read, and how many partitions these have, where a description does not tell.

kafka-consumer-groups prints neither. That all members read all topics is assumed only if the group could then look as it does.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import inf
from typing import Final

from service.core.budget import Budget
from service.core.documents import Json
from service.core.errors import AllocatorError, InvalidQuestion
from service.core.printable import counted, first_few
from service.decisions.groups.answer import Range, answer
from service.decisions.groups.question import of_rows
from service.descriptions.model import Description
from service.planner.member_ids import IdDraw, default_client_id
from service.strategies import GROUP_PROTOCOLS

ADDED: Final = "is_added"
"""A member's field: it is one of those that join."""

NAMED: Final = 5

DRAWS: Final = 50
MOST_DRAWN_CELLS: Final = 4_000_000
"""Partitions × members × draws up to which several draws are compared."""


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
        empty: Json = {"group_id": group_id or "group"}
        described = [{**member, "topic_names": read} for member in _counted(empty, members)]
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
    counted = {**chosen[0], "members": _counted(chosen[0], members)}
    return replace(whole, groups=tuple(counted if group is chosen[0] else group for group in groups))


def rows_of(group: Json) -> tuple[dict[str, set[int]], dict[str, set[int]]]:
    """topic_name → partition ids that members own, and those with a row among the group's offsets."""
    owned, listed = dict[str, set[int]](), dict[str, set[int]]()
    for member in group.get("members", ()):
        for part in member.get("owned_partitions") or ():
            owned.setdefault(part["topic_name"], set()).update(part["partition_ids"])
    for part in group.get("committed_offsets", ()):
        listed.setdefault(part["topic_name"], set()).update(part["partition_ids"])
    return owned, listed


def topics_read(group: Json) -> set[str]:
    """The topics that the group reads, as far as its description tells."""
    owned, listed = rows_of(group)
    return (
        {name for member in group.get("members", ()) for name in member.get("topic_names") or ()} | owned.keys() | listed.keys()
    )


def _counted(group: Json, members: int | Sequence[str]) -> list[Json]:
    """The members described, as many as there are to be or those named, and further ones."""
    described = group.get("members") or ()
    if isinstance(members, int):
        stay, names = list(described[:members]), drawn_ids(group, members - len(described), 0)
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
    if not joining or not any(member.get("owned_partitions") for member in stay) or cells * DRAWS > MOST_DRAWN_CELLS:
        return None
    moved = []
    for number in range(DRAWS):
        ids = drawn_ids(group, len(joining), number)
        members = [*stay, *({**member, "member_id": name} for member, name in zip(joining, ids, strict=True))]
        moved.append(answer(of_rows(**{**body, "members": members}), Budget()).settled.movement.moved)
    ids_of = f"the ids that {counted(len(joining), 'new member draws', 'new members draw')}"
    return f"What moves depends on {ids_of}: in {DRAWS} draws {Range.of(moved)} partitions move. The answer is the first draw."


MOST_CELLS: Final = 4_000_000
"""Partitions × members up to which the assumption is tested."""

AT_REST: Final = (None, "Stable", "STABLE")
"""States of a group whose members own what its assignor gave them; None: not known."""

WITHOUT: Final = "The description has no subscriptions"


def partition_counts(group: Json, names: Sequence[str], ends: Callable[[str], int]) -> tuple[dict[str, int], list[str]]:
    """The partition counts of these topics by the rows of the group, and what to know of them.

    ends : topic_name → partitions up to the last whose end the description has
    Raises InvalidQuestion for a topic of which no row, or not each, is known.
    """
    owned, listed = rows_of(group)
    counts, unknown, guessed = {}, [], []
    for name in names:
        ids = owned.get(name, set()) | listed.get(name, set())
        if not ids or max(ids) >= len(ids) or ends(name) > len(ids):
            unknown.append(name)
        counts[name] = len(ids)
        if ids - owned.get(name, set()):
            guessed.append(name)
    if unknown:
        example = f"--topic {unknown[0]}:{max(counts[unknown[0]], 1)}"
        raise InvalidQuestion(
            f"The partition counts of these topics are not known: {first_few(unknown, NAMED)}. kafka-topics --describe prints "
            f"them; or give them, as {example}."
        )
    written = {name: f"{name} {count}" for name, count in counts.items()}
    inferred = first_few([written[name] for name in names if name not in guessed], NAMED)
    notes = []
    if inferred:
        notes.append(f"Partition counts are inferred from the group's rows, which have each partition once: {inferred}.")
    if guessed:
        named = first_few([written[name] for name in guessed], NAMED)
        notes.append(
            f"Partition counts are a guess: {named}. Not all of these partitions have an owner, so there may be more without a "
            f"row; --topic {guessed[0]}:N, or the output of kafka-topics --describe, tells."
        )
    return counts, notes


def counted_by_groups(description: Description) -> tuple[Description, list[str]]:
    """The description with partition counts of topics that only its groups' rows tell, and what to know of them."""
    found, notes = [], []
    for topic in description.topics:
        name, ends = topic["topic_name"], len(topic.get("log_end_offsets") or ())
        for group in description.groups if "partitions_count" not in topic else ():
            with suppress(InvalidQuestion):
                counts, sentences = partition_counts(group, [name], lambda _, ends=ends: ends)  # type: ignore[misc]
                found.append({"topic_name": name, "partitions_count": counts[name]})
                notes += sentences
                break
    return description.merged(Description(description.form, topics=tuple(found))), notes


def with_subscriptions(group: Json, body: Json) -> tuple[list[Json], list[str]]:
    """The members of a body with their ``topic_names``, where these are to be assumed, and what to know of them, in sentences.

    group : as described; body : of ``POST /v1/group-assignments``, with the assignor that the group has
    """
    members = group["members"]
    silent = [member for member in members if "topic_names" not in member]
    present = [member for member in silent if ADDED not in member]
    names = [topic["topic_name"] for topic in body["topics"]]
    if not silent or len(names) < 2:
        return members, []
    everybody = f"all {counted(len(silent), 'member')} are assumed to read all {len(names)} topics"
    cells = len(members) * sum(topic["partitions_count"] for topic in body["topics"])
    owning = [member for member in present if member.get("owned_partitions")]
    if not owning or len(present) < len(members) - sum(ADDED in member for member in members) or cells > MOST_CELLS:
        return members, [f"{WITHOUT}: {everybody}."]
    as_all = _differing(body, present, [names] * len(present))
    if group.get("group_state") not in AT_REST or not as_all:
        return members, [f"{WITHOUT}: {everybody}."]
    if "assignor" not in body and body.get("group_protocol", "classic") == "classic" and _is_sticky(body, present):
        looks = "what members own looks like cooperative-sticky, not like range, the default"
        prints = "kafka-consumer-groups --describe --state prints the assignor"
        return members, [f"{WITHOUT}: {everybody}. It names no assignor either: {looks}. {prints}."]
    assignor = body.get("assignor") or f"{GROUP_PROTOCOLS[body.get('group_protocol', 'classic')].builtins[0].name} (the default)"
    candidates = (_by_shared_topics(present), _by_client(present), [sorted(_owned_topics(member)) for member in present])
    differing, kinds = min(
        ((_differing(body, present, each), each) for each in candidates if all(each)), key=lambda pair: pair[0]
    )
    if differing >= as_all:
        return members, [
            f"{WITHOUT}: {everybody}, although {assignor} would then not assign what they own; what moves may be due to that."
        ]
    given = {member["member_id"]: kind for member, kind in zip(present, kinds, strict=True)}
    sentence = (
        f"{WITHOUT}, and the group does not look as if all members read all topics, since {assignor} would then assign "
        f"otherwise: {'; '.join(_written(present, kinds))}. Assumed so"
        f"{', although that does not explain all that they own' * bool(differing)}."
    )
    return [{**member, "topic_names": given.get(member["member_id"], kinds[-1])} for member in members], [sentence]


def _is_sticky(body: Json, present: Sequence[Json]) -> bool:
    """Would cooperative-sticky have assigned what the members own, if all read all topics and none owned anything?"""
    expected = [{"member_id": member["member_id"], "partitions": member.get("owned_partitions") or []} for member in present]
    rows = [{"member_id": member["member_id"]} for member in present]
    question = of_rows(**{**body, "assignor": "cooperative-sticky", "members": rows}, expected=expected)
    with suppress(AllocatorError):
        comparison = answer(question, Budget()).comparison
        return comparison is not None and not len(comparison.differences)
    return False


def _differing(body: Json, present: Sequence[Json], kinds: Sequence[Sequence[str]]) -> float:
    """How many partitions that members own a rebalance would take from them, if they read these topics."""
    rows = [
        {name: value for name, value in {**member, "topic_names": list(kind)}.items() if name in MEMBER and value is not None}
        for member, kind in zip(present, kinds, strict=True)
    ]
    try:
        return answer(of_rows(**{**body, "members": rows}), Budget()).settled.movement.revoked
    except AllocatorError:
        return inf


MEMBER: Final = ("member_id", "instance_id", "rack_id", "topic_names", "generation_id", "owned_partitions")


def _owned_topics(member: Json) -> set[str]:
    return {part["topic_name"] for part in member.get("owned_partitions") or () if part["partition_ids"]}


def _by_shared_topics(members: Sequence[Json]) -> list[list[str]]:
    """For each member the topics of all that it shares a topic with, directly or by others; all topics if it owns nothing."""
    sets: list[set[str]] = []
    for member in members:
        topics = _owned_topics(member)
        joined = [each for each in sets if each & topics]
        sets = [each for each in sets if not each & topics] + ([topics.union(*joined)] if topics else [])
    every = sorted(set().union(*sets))
    return [sorted(next((each for each in sets if each & _owned_topics(member)), every)) for member in members]


def _by_client(members: Sequence[Json]) -> list[list[str]]:
    """For each member the topics of all members of its client id."""
    of_client: dict[str, set[str]] = {}
    for member in members:
        of_client.setdefault(str(member.get("client_id")), set()).update(_owned_topics(member))
    return [sorted(of_client[str(member.get("client_id"))]) for member in members]


def _written(members: Sequence[Json], kinds: Sequence[Sequence[str]]) -> Iterator[str]:
    """``c1 and c2 read clicks``, for each set of topics."""
    of_kind: dict[tuple[str, ...], list[str]] = {}
    for member, kind in zip(members, kinds, strict=True):
        of_kind.setdefault(tuple(kind), []).append(member["member_id"])
    for kind, names in of_kind.items():
        yield f"{first_few(names, 2).replace(', ', ' and ')} {'reads' if len(names) == 1 else 'read'} {first_few(kind, NAMED)}"
