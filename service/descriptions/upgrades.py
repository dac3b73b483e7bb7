"""What an upgrade changes for a described cluster: groups, keys and placements; and how members get there.

A group is put to the assignor that it has and to the one that it is to have, with the members and owned partitions of now. So a
difference is one of the next rebalance, whatever causes it. A client's group is one whose leader uses the client (``leaders``).
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from service.core.budget import Budget
from service.core.documents import Json
from service.core.errors import AllocatorError, InvalidQuestion, UnknownStrategy
from service.core.kafka_versions import LATEST
from service.core.printable import all_of, counted, first_few
from service.core.registry import numbers, reaches
from service.decisions.groups.answer import GroupAnswer, answer
from service.decisions.groups.question import of_rows, strategy
from service.descriptions.bodies import group_assignment
from service.descriptions.leaders import clients_of, leader_of
from service.descriptions.model import Description
from service.descriptions.version_histories import (
    KRAFT_ONLY_SINCE,
    Default,
    KeyChange,
    PlacementChange,
    alike_for_keys,
    defaults,
    key_changes,
    placement_changes,
    steps_of,
)
from service.planner.assignor_changes import restarts
from service.planner.rebalances import differences, final_rows, moves
from service.strategies import GROUP_PROTOCOLS, Assignor, of_client

NAMED: Final = 5
"""Groups that a sentence names at most."""

KAFKA: Final = "kafka"
"""Brokers and Java's clients together."""
ZOOKEEPER: Final = "zookeeper"
"""The same, of brokers with ZooKeeper."""
EAGER, COOPERATIVE, CLASSIC, CONSUMER = "eager", "cooperative", "classic", "consumer"
PROTOCOLS: Final = {EAGER: COOPERATIVE, COOPERATIVE: EAGER, CLASSIC: CONSUMER}
"""What a group goes from, and to; nothing leads from the consumer protocol back without a stop of all members."""


@dataclass(frozen=True)
class Software:
    """What a cluster is upgraded from or to: ``librdkafka:1.9``, ``kafka:3.9``, ``zookeeper:3.9``, ``eager``, ``consumer`` …

    name : a client, KAFKA, or a protocol
    release : as written; None for a protocol, and for a client's newest
    zookeeper : of KAFKA, have its brokers ZooKeeper?
    """

    name: str
    release: str | None = None
    zookeeper: bool = False

    @classmethod
    def read(cls, text: str) -> Self:
        """Raises InvalidQuestion for a text that is none."""
        name, _, release = text.partition(":")
        if name in PROTOCOLS or name == CONSUMER:
            if release:
                raise InvalidQuestion(f"{name} is a protocol and has no releases.")
            return cls(name)
        if name not in (KAFKA, ZOOKEEPER):
            try:
                of_client("classic", name, None)
            except UnknownStrategy as fault:
                names = ", ".join((KAFKA, ZOOKEEPER, *fault.known, *PROTOCOLS, CONSUMER))
                raise InvalidQuestion(f"There is no {name!r}; it must be one of {names}.") from None
        if release:
            try:
                numbers(release)
            except ValueError as fault:
                raise InvalidQuestion(f"{text}: {fault}.") from None
        if name == ZOOKEEPER:
            if not release:
                raise InvalidQuestion(f"{ZOOKEEPER} needs a release of Kafka: {ZOOKEEPER}:3.9.")
            if reaches(release, KRAFT_ONLY_SINCE):
                raise InvalidQuestion(f"Kafka has had no ZooKeeper since {KRAFT_ONLY_SINCE}: zookeeper:{release} does not exist.")
            return cls(KAFKA, release, zookeeper=True)
        return cls(name, release or None)


@dataclass(frozen=True)
class GroupChange:
    """What an upgrade does to a group.

    before, after : the names of its assignors, with their clients' releases
    assigned_differently : partitions that the next rebalance assigns to other members than without the upgrade
    moved : partitions that change hands in the first rebalance after it; moved_without_upgrade : that would without it
    steps : how its members get there
    assumed : could its leader's client be another?
    notes : what is assumed
    problem : why it cannot be answered
    """

    group_id: str
    before: str
    after: str
    assigned_differently: int | None = None
    moved: int | None = None
    moved_without_upgrade: int | None = None
    steps: tuple[str, ...] = ()
    assumed: bool = False
    notes: tuple[str, ...] = ()
    problem: str | None = None


@dataclass(frozen=True)
class GroupLeft:
    """A group that an upgrade does not concern, or may not. because : a clause"""

    group_id: str
    because: str


@dataclass(frozen=True)
class Upgrade:
    """What an upgrade changes.

    groups : those that it concerns; unaffected : those that it does not; unknown : those of which that is not known
    partitioners : the default partitioners, before and after, if producers change; None where that is not known
    keys : the same by topic, if it is another
    placements : the placers of brokers, before and after, by topic
    notes : what is assumed for all
    """

    groups: tuple[GroupChange, ...]
    unaffected: tuple[GroupLeft, ...]
    unknown: tuple[GroupLeft, ...]
    partitioners: tuple[Default, Default] | None
    keys: tuple[KeyChange, ...]
    placements: tuple[PlacementChange, ...]
    notes: tuple[str, ...]


def upgrade(description: Description, before: Software, after: Software, client: str | None = None) -> Upgrade:
    """What changes. client : of the groups whose client could be this one, and nothing tells that it is another

    Raises InvalidQuestion for two states of which the second does not follow the first.
    """
    protocols = {*PROTOCOLS, CONSUMER}
    if {before.name, after.name} & protocols and PROTOCOLS.get(before.name) != after.name:
        pairs = ", ".join(f"{one} to {other}" for one, other in PROTOCOLS.items())
        raise InvalidQuestion(
            f"An upgrade from {before.name} to {after.name} is not supported; use {pairs}, or one client to another."
        )
    if (before.name == KAFKA) != (after.name == KAFKA):
        raise InvalidQuestion(f"{KAFKA} stands for brokers with Java's clients: name it on both sides, or a client on both.")
    if after.zookeeper and not before.zookeeper:
        raise InvalidQuestion("A cluster cannot go back from KRaft to ZooKeeper.")
    states, notes = [before, after], list[str]()
    for i, state in enumerate(states):
        states[i], note = _compared(state)
        notes += note
    same = before != after and states[0] == states[1] and notes
    problem = f"How releases differ that were not compared is not known: {before.name} {states[0].release} stands for both."
    changes, unaffected, unknown = list[GroupChange](), list[GroupLeft](), list[GroupLeft]()
    for each in description.groups:
        group = _of_client(each, client)
        because, known = next(_why_not(group, *states), (None, True))
        if because is None:
            changes.append(_change(description, group, *_ways(group, *states), problem=problem if same else None))
        else:
            (unaffected if known else unknown).append(GroupLeft(group["group_id"], because))
    partitioners = defaults(_client(before), before.release, _client(after), after.release)
    keys = tuple(key_changes(description, *partitioners)) if partitioners else ()
    brokers = [(state.release or LATEST, state.zookeeper) for state in states]
    placements = tuple(placement_changes(description, brokers)) if before.name == KAFKA else ()
    return Upgrade(tuple(changes), tuple(unaffected), tuple(unknown), partitioners, keys, placements, tuple(notes))


def _of_client(group: Json, client: str | None) -> Json:
    """The group, with this client if that is one of several that it could have."""
    leader = leader_of(group)
    return {**group, "client": client} if leader and len(leader.candidates) > 1 and client in leader.candidates else group


def _compared(state: Software) -> tuple[Software, list[str]]:
    """The state with the release whose answers stand for it, and a sentence if it is another. Protocols stay as they are."""
    known = _client_releases(state.name)
    if state.release is None or not known:
        return replace(state, release=known[-1] if known else None), []
    like = [each for each in known if numbers(each)[: len(numbers(state.release))] <= numbers(state.release)]
    release = like[-1] if like else known[0]
    if f"{release}.".startswith(f"{state.release}."):
        return replace(state, release=release), []
    why = "the only one compared" if len(known) == 1 else "the newest before it" if like else "the oldest"
    return replace(state, release=release), [f"{state.name} {state.release} was not compared; {release} stands for it, {why}."]


def _client_releases(client: str) -> tuple[str, ...]:
    if client in (KAFKA, "java"):
        return GROUP_PROTOCOLS["classic"]["range"].kafka_versions
    return next((each.client_releases for each in GROUP_PROTOCOLS["classic"].builtins if each.name.startswith(f"{client}:")), ())


def _client(state: Software) -> str:
    """Whose clients are upgraded."""
    return "java" if state.name == KAFKA else state.name


def _why_not(group: Json, before: Software, after: Software) -> Iterator[tuple[str, bool]]:
    """Why the upgrade does not concern a group (True), or why that is not known (False); the first counts."""
    protocol, assignor = group.get("group_protocol", "classic"), group.get("assignor")
    if protocol not in GROUP_PROTOCOLS:
        of_java = _client(before) == "java"
        yield f"a group of protocol {protocol}{', which is not compared' * of_java}", not of_java
    if protocol != "classic" and before.name != KAFKA:
        yield f"the coordinator assigns it: protocol {protocol}", True
    if not group.get("members"):
        yield "it has no members" if "members" in group else "its members are not described", False
    if assignor is None:
        yield "its assignor is not described", False
    if protocol == "classic":
        yield from _why_not_classic(group, before, after)


def _why_not_classic(group: Json, before: Software, after: Software) -> Iterator[tuple[str, bool]]:
    """The same of a classic group whose assignor is described."""
    client, assignor = _leading(group), group["assignor"]
    if leader_of(group) and of_client("classic", client, assignor) not in GROUP_PROTOCOLS["classic"].names():
        yield f"its assignor {assignor} is not known", False
    if before.name in (EAGER, COOPERATIVE):
        if not _is(client, assignor, before.name):
            yield f"{assignor} is not {before.name}", True
        if not any(_is(client, each, after.name) for each in _names(client)):
            yield f"{client} has no assignor that is {after.name}", True
    elif before.name != CLASSIC and client != _client(before):
        leader = leader_of(group)
        could = leader is not None and _client(before) in leader.candidates
        yield f"it is not known whether its client is {_client(before)}" if could else f"its client is {client}", not could


def _leading(group: Json) -> str:
    """The client of a group's leader."""
    leader = leader_of(group)
    return leader.client if leader else "java"


def _ways(group: Json, before: Software, after: Software) -> tuple[Json, Json]:
    """How a group that the upgrade concerns is assigned before and after, as fields of questions."""
    if group.get("group_protocol", "classic") != "classic":
        return {"kafka_version": before.release or LATEST}, {"kafka_version": after.release or LATEST}
    leader, client = leader_of(group), _leading(group)
    now: Json = {} if leader is None else leader.fields
    if before.name == CLASSIC:
        return now, {"group_protocol": CONSUMER, "assignor": "uniform", "client": None, "client_version": None}
    if before.name in PROTOCOLS:
        return now, {**now, "assignor": next(each for each in _names(client) if _is(client, each, after.name))}
    old, new = ({"client": _client(state), "client_version": state.release} for state in (before, after))
    return old, {**new, "assignor": _successor(client, _client(after), group["assignor"])}


def _successor(client: str, other: str, name: str) -> str:
    """The assignor with which another client takes over: that of the same name, or else the first to which restarts lead."""
    names, registry = _names(other), GROUP_PROTOCOLS["classic"]
    if name in names:
        return name
    if (full := of_client("classic", client, name)) in registry.names():
        for each in names:
            with suppress(InvalidQuestion):
                restarts(registry[full], registry[of_client("classic", other, each)])
                return each
    return names[0]


def _names(client: str) -> list[str]:
    """The names of a client's assignors, its default first."""
    registry = GROUP_PROTOCOLS["classic"]
    default = of_client("classic", client, None).rpartition(":")[2]
    own = [each.protocol_name for each in registry.builtins if (each.name.rpartition(":")[0] or "java") == client]
    return list(dict.fromkeys([default, *own]))


def _is(client: str, name: str, protocol: str) -> bool:
    """Has the client's assignor of this name this rebalance protocol?"""
    registry, full = GROUP_PROTOCOLS["classic"], of_client("classic", client, name)
    return full in registry.names() and registry[full].is_cooperative == (protocol == COOPERATIVE)


def _change(description: Description, group: Json, before: Json, after: Json, problem: str | None) -> GroupChange:
    """What happens to a group. problem : why it is not known what differs, if so"""
    body = group_assignment(description, group["group_id"])
    for name in ("client", "client_version"):
        body.pop(name, None)
    questions = [of_rows(**{name: value for name, value in (body | way).items() if value is not None}) for way in (before, after)]
    leader = leader_of(group)
    assumed = leader is not None and len(leader.candidates) > 1
    notes = (f"{leader.sentence[:1].upper()}{leader.sentence[1:]}.",) if leader and assumed else ()
    named = group["assignor"]
    try:
        old, new = (strategy(question) for question in questions)
        named, then = (_titled(each, question.client_version) for each, question in zip((old, new), questions, strict=True))
        clients = dict.fromkeys([leader.client if leader else "java", *clients_of(group)])
        steps = tuple(steps_of(old, new, list(clients), questions[1].protocol, questions[0].protocol))
        known = GroupChange(group["group_id"], named, then, steps=steps, assumed=assumed, notes=notes, problem=problem)
    except AllocatorError as fault:
        return GroupChange(group["group_id"], named, "", notes=notes, problem=str(fault))
    if problem is not None:
        return known
    try:
        old_answer, new_answer = (answer(question, Budget()) for question in questions)
    except AllocatorError as fault:
        return replace(known, problem=str(fault))
    return _counted(known, old_answer, new_answer)


def _counted(change: GroupChange, old: GroupAnswer, new: GroupAnswer) -> GroupChange:
    """With the numbers of partitions that are assigned otherwise and that move."""
    group = old.first.group
    rows = [final_rows((each.second or each.first).outcome.assignment) for each in (old, new)]
    found = differences(rows[0], rows[1], group.total_partitions)
    chance = [each.first.outcome.assignment.left_open for each in (old, new)]
    sentences = [f"{each.warning} These partitions are not counted." for each in chance if each is not None]
    for each in chance:
        found = found if each is None else found.without(each.partitions)
    exists = group.topics.partitions_count
    moved = [int((moves(group, each).partitions < exists).sum()) for each in rows]
    return replace(
        change, assigned_differently=len(found), moved=moved[1], moved_without_upgrade=moved[0], notes=(*change.notes, *sentences)
    )


def _titled(assignor: Assignor, release: str | None) -> str:
    """Its client, and the release of it: the one that was asked for, or else the newest that answers so."""
    of = assignor.implementation
    return f"{of.client} {release or of.release} {assignor.protocol_name}" if of else assignor.name


def document(found: Upgrade) -> dict[str, Any]:
    """The upgrade as JSON."""
    return {
        "conclusion": " ".join(sentences(found)),
        "groups": [vars(group) for group in found.groups],
        "groups_not_affected": [vars(group) for group in found.unaffected],
        "groups_not_known": [vars(group) for group in found.unknown],
        "keys": [vars(change) for change in found.keys],
        "placements": [vars(change) for change in found.placements],
        "notes": found.notes,
    }


def sentences(found: Upgrade) -> Iterator[str]:
    """What changes, what does not and why, and what is not known and why."""
    yield _of_groups(found)
    assumed = [each.group_id for each in found.groups if each.assumed]
    if assumed:
        yield f"The client of {first_few(assumed, NAMED)} is assumed: it is not known which it is."
    for what, left in (("not affected", found.unaffected), ("not known", found.unknown)):
        if left:
            yield f"{len(left):,} {'is' if len(left) == 1 else 'are'} {what}: {_reasons(left)}."
    if any("is not known whether" in each.because for each in found.unknown):
        yield "--client plans them as groups of that client."
    yield from _of_keys(found)
    if found.placements:
        placer, count = found.placements[0], len(found.placements)
        impossible = sum(not each.possible_after for each in found.placements)
        yield f"{placer.after} places new topics and added partitions instead of {placer.before}. Topics stay where they are."
        yield f"Of {counted(count, 'topic')}, {placer.after} could not have placed {impossible} this way."


def _of_groups(found: Upgrade) -> str:
    """The groups that the upgrade concerns."""
    total = len(found.groups) + len(found.unaffected) + len(found.unknown)
    if not total:
        return "The description has no group."
    named = {
        "assigned differently at the next rebalance": [each for each in found.groups if each.assigned_differently],
        "assigned as before": [each for each in found.groups if each.assigned_differently == 0],
        "not compared": [each for each in found.groups if each.assigned_differently is None],
    }
    parts = [
        f"{len(groups):,} {'is' if len(groups) == 1 else 'are'} {what} ({first_few([each.group_id for each in groups], NAMED)})"
        for what, groups in named.items()
        if groups
    ]
    return f"Of {counted(total, 'group')}, {all_of(parts, len(parts)) if parts else 'none is known to be affected'}."


def _reasons(left: tuple[GroupLeft, ...]) -> str:
    """The groups by their reasons."""
    named: dict[str, list[str]] = {}
    for each in left:
        named.setdefault(each.because, []).append(each.group_id)
    return "; ".join(f"{first_few(names, NAMED)} ({because})" for because, names in named.items())


def _of_keys(found: Upgrade) -> Iterator[str]:
    """What becomes of keys."""
    if found.partitioners is None:
        return
    before, after = found.partitioners
    if before.partitioner == after.partitioner:
        yield f"The default partitioner stays {before.partitioner}, so keys stay where they are."
    else:
        change = f"The default partitioner changes from {before.partitioner} to {after.partitioner}"
        if alike_for_keys(before, after):
            yield f"{change}, which hash keys alike: they stay where they are."
        else:
            where = (
                "the shares are those of sampled keys" if found.keys else "which topics is not known: the description has none"
            )
            yield f"{change}: keys move if producers change too and configure none; {where}."
    if before.keyless != after.keyless:
        yield f"Records without a key: {before.keyless} → {after.keyless}."
