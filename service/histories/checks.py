"""Would the group's assignor have given exactly what it got?

Of a classic group by what its leader was told, as the group's record has it. Of a consumer group (KIP-848) by what its
coordinator computed the target from: the members, their subscriptions and instance ids, and the target before. Records have ids
of topics; their names and partition counts are told by ``kafka-topics --describe``, snapshots, and until Kafka 4.0 by records.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from service.core.budget import Budget
from service.core.documents import Json
from service.core.errors import AllocatorError
from service.core.printable import all_of, counted, printable
from service.decisions.groups.answer import answer
from service.decisions.groups.question import GroupQuestion, of_rows
from service.decisions.groups.tables import difference_rows
from service.descriptions.model import by_topic, listed
from service.histories.events import Computed, MemberNames, Partition, PastRebalance, StoredMember, TopicsTold
from service.histories.records import MISSING, MOST_COMPUTED
from service.strategies import GROUP_PROTOCOLS, KAFKAS, of_client

COORDINATOR: Final = "coordinator"
NAMED: Final = 3
DESCRIBED: Final = "kafka-topics --describe prints it"


class AssignorCheck(NamedTuple):
    """alike : does Kafka's own assignor give exactly this; None: not told. clients : whose assignor of this name does

    sentence : both in words
    """

    alike: bool | None
    clients: tuple[str, ...]
    sentence: str


class _Untold(Exception):
    """Why it is not told."""


def checks(
    rebalances: list[PastRebalance], topics: TopicsTold, names: MemberNames, budget: Budget
) -> dict[int, AssignorCheck | None]:
    """Those of the first MOST_COMPUTED rebalances whose assignment a record tells, by ``id``; None: of no assignor of Kafka's."""
    stored = [each for each in rebalances if each.records or each.computed][:MOST_COMPUTED]
    sizes = _sizes(stored)
    return {
        id(each): _of_leader(each, names, budget)
        if each.records or each.computed is None
        else _of_coordinator(each, each.computed, topics, sizes, names, budget)
        for each in stored
    }


def _of_leader(rebalance: PastRebalance, names: MemberNames, budget: Budget) -> AssignorCheck | None:
    question, name = _as_seen_by_leader(rebalance), rebalance.assignor or ""
    if question is None or not (clients := _clients(name)):
        return None
    ways = [{"assignor": of_client("classic", client, name)} for client in clients]
    alike, differs = _tried(question, ways, names, budget)
    if alike[:1] == [0]:
        return AssignorCheck(alike=True, clients=("java",), sentence=f"Yes: kafka-clients' {name} gives exactly this.")
    others = tuple(clients[i] for i in alike)
    whose = f"that of {all_of(others, NAMED)} does" if alike else "none does, for example because the leader saw other topics"
    return AssignorCheck(alike=False, clients=others, sentence=f"No: kafka-clients' {name} {differs}; {whose}.")


def _tried(question: GroupQuestion, ways: list[dict[str, Any]], names: MemberNames, budget: Budget) -> tuple[list[int], str]:
    """Which ways to ask give what is expected, the first alone if it does; and what the first gives instead."""
    alike, differs = list[int](), ""
    for i, way in enumerate(ways):
        try:
            found = answer(replace(question, **way), budget)
        except AllocatorError as error:
            differs = differs or f"fails: {error}"
            continue
        if found.comparison is None or not len(found.comparison.differences):
            alike.append(i)
            if i == 0:
                break
        elif not differs:
            [row] = difference_rows(found.comparison.expected, found.comparison.differences, 1)
            given, got = (", ".join(map(names, row[each])) or "no member" for each in ("member_ids", "expected_member_ids"))
            of = f"{len(found.comparison.differences)} of {counted(found.first.group.total_partitions, 'partition')} differ"
            differs = f"would give {row['topic_name']}-{row['partition_id']} to {given}, not to {got} ({of})"
    return alike, differs


def _clients(name: str) -> list[str]:
    """The clients that have a classic assignor of this name, Kafka's own first; none if Kafka's has none."""
    names = [each.name for each in GROUP_PROTOCOLS["classic"].builtins]
    return ["java", *(each.partition(":")[0] for each in names if each.endswith(f":{name}"))] if name in names else []


def _as_seen_by_leader(rebalance: PastRebalance) -> GroupQuestion | None:
    """The group as its leader saw it. Its topics have as many partitions as the members were given or had, without a gap."""
    members = rebalance.records or {}
    sizes = counts(partition for each in members.values() for partition in (*(each.assigned or ()), *(each.claimed or ())))
    if not sizes or any(each.claimed is None for each in members.values()):
        return None
    rows: list[Json] = [
        {
            "member_id": each.member_id,
            "instance_id": each.instance_id,
            "topic_names": [topic for topic in each.topics or () if topic in sizes],
            "generation_id": each.claimed_in,
            "owned_partitions": listed(by_topic(each.claimed or ())),
        }
        for each in members.values()
    ]
    topics = [{"topic_name": topic, "partitions_count": count} for topic, count in sorted(sizes.items())]
    got = [{"member_id": each.member_id, "partitions": listed(by_topic(each.assigned or ()))} for each in members.values()]
    return of_rows(topics, rows, expected=got)


# ---- consumer groups -------------------------------------------------------------------------------------------------------


def _of_coordinator(
    rebalance: PastRebalance,
    computed: Computed | str,
    topics: TopicsTold,
    sizes: dict[tuple[str, str], int],
    names: MemberNames,
    budget: Budget,
) -> AssignorCheck | None:
    own = {each.name: each for each in KAFKAS["consumer"]}
    if rebalance.assignor is not None and rebalance.assignor not in own:
        return None
    try:
        question, unless = _as_seen_by_coordinator(rebalance, computed, topics, sizes)
    except _Untold as why:
        return AssignorCheck(None, (), f"Not told: {why}.")
    for name in own if rebalance.assignor is None else [rebalance.assignor]:
        releases = list(own[name].forms)
        ways = [{"assignor": name, "kafka_version": release} for release in releases]
        alike, differs = _tried(question, ways, names, budget)
        if alike:
            whose = f"the coordinator's {name}" + (f" of Kafka {releases[alike[0]]}" if alike[0] else "")
            return AssignorCheck(None if unless else True, (COORDINATOR,), f"Yes{unless}: {whose} gives exactly this.")
    if rebalance.assignor is None:
        return AssignorCheck(None, (), "Not told: no source names the assignor, and none of the coordinator's own gives this.")
    return AssignorCheck(alike=False, clients=(), sentence=f"No: the coordinator's {rebalance.assignor} {differs}.")


def _sizes(stored: list[PastRebalance]) -> dict[tuple[str, str], int]:
    """(Hash of the topics, topic id) → how many partitions it has at least; equal hashes are of equal partition counts."""
    found: dict[tuple[str, str], int] = {}
    for each in stored:
        if isinstance(each.computed, Computed) and each.metadata_hash is not None:
            for topic_id, i in _partitions(each.computed.target):
                key = each.metadata_hash, topic_id
                found[key] = max(i + 1, found.get(key, 0))
    return found


def _partitions(of_members: dict[str, frozenset[Partition]]) -> list[Partition]:
    return [partition for partitions in of_members.values() for partition in partitions]


def _as_seen_by_coordinator(
    rebalance: PastRebalance, computed: Computed | str, topics: TopicsTold, sizes: dict[tuple[str, str], int]
) -> tuple[GroupQuestion, str]:
    """The group as its coordinator saw it, and under which condition no source tells. Raises _Untold."""
    if isinstance(computed, str):
        raise _Untold(computed)
    subscriptions = {member_id: _subscription(member, computed) for member_id, member in computed.members.items()}
    least = {topic_id: count for (of_hash, topic_id), count in sizes.items() if of_hash == rebalance.metadata_hash}
    now = least.keys() | {topic_id for topic_id, _ in _partitions(computed.target)}
    for topic_id, i in (*_partitions(computed.target), *_partitions(computed.owned)):
        least[topic_id] = max(i + 1, least.get(topic_id, 0))
    known = TopicsTold({**topics, **computed.topics})
    least |= {topic_id: max(topic.counts) for topic_id, topic in computed.topics.items()}
    for topic_id in sorted(now - known.keys()):
        raise _Untold(f"no source has the name of the topic {topic_id}; {DESCRIBED}")
    ids, conditions = dict[str, str](), list[str]()
    for name in sorted({*(known[each].name for each in now), *(name for names in subscriptions.values() for name in names)}):
        found = _topic_id(name, computed.topics or now, known)
        if found is not None:
            ids[found] = name
        if found is None and not computed.topics:
            conditions.append(f"{printable(name)} did not exist then")
        elif found is not None and least[found] not in known[found].counts:
            conditions.append(f"{printable(name)} had {counted(least[found], 'partition')} then")
    if not _is_whole(computed, {topic_id: least[topic_id] for topic_id in ids}):
        raise _Untold(MISSING)

    def rows_of(target: Mapping[str, frozenset[Partition]], member_id: str) -> list[Json]:
        return listed(by_topic((ids.get(topic_id, topic_id), i) for topic_id, i in target.get(member_id, ())))

    rows: list[Json] = [
        {
            "member_id": member_id,
            "instance_id": member.instance_id,
            "topic_names": subscriptions[member_id],
            "generation_id": 0 if member_id in computed.joining else None,
            "owned_partitions": rows_of(computed.owned, member_id),
        }
        for member_id, member in computed.members.items()
    ]
    described = [{"topic_name": name, "topic_id": each, "partitions_count": least[each]} for each, name in ids.items()]
    got = [{"member_id": member_id, "partitions": rows_of(computed.target, member_id)} for member_id in computed.target]
    question = of_rows(described, rows, expected=got, group_protocol="consumer")
    return question, f", if {all_of(conditions, NAMED)}" if conditions else ""


def _topic_id(name: str, now: Iterable[str], known: TopicsTold) -> str | None:
    """Which of the ids of now the topic has; None: it did not exist then. Raises _Untold."""
    found = [each for each in now if known[each].name == name]
    if len(found) > 1:
        raise _Untold(f"two topics are called {printable(name)}")
    if not any(topic.name == name for topic in known.values()):
        raise _Untold(f"no source has the id of the topic {printable(name)}; {DESCRIBED}")
    if found and not known[found[0]].counts:
        raise _Untold(f"no source has the partition count of the topic {printable(name)}; {DESCRIBED}")
    return next(iter(found), None)


def _subscription(member: StoredMember, computed: Computed) -> list[str]:
    """The topics that exist, or not, to which a member subscribes. Raises _Untold."""
    if member.regex is not None and member.regex not in computed.matches:
        raise _Untold(f"no record tells which topics match {printable(member.regex)}")
    return list(dict.fromkeys((*(member.topics or ()), *computed.matches.get(member.regex or "", ()))))


def _is_whole(computed: Computed, sizes: dict[str, int]) -> bool:
    """Are all members known? Where records begin in the middle, they are if those known had every partition before."""
    if computed.target.keys() - computed.members.keys():
        return False
    if computed.earlier is None:
        return True
    had = [each for each in _partitions(computed.earlier) if each[0] in sizes]
    return len(had) == len(set(had)) == sum(sizes.values())


def counts(partitions: Iterable[Partition]) -> dict[str, int]:
    """How many partitions each topic has; none of any topic if the partitions of one have a gap."""
    ids = by_topic(partitions)
    return {topic: len(each) for topic, each in ids.items()} if all(len(each) == max(each) + 1 for each in ids.values()) else {}
