"""What an upgrade changes for a described cluster: groups, keys and placements; and how members get there.

A group is put to the assignor that it has and to the one that it is to have, with the members and owned partitions of now. So a
difference is one of the next rebalance, whatever causes it. A client's group is one whose leader uses the client (``leaders``).
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from service.core.documents import Json
from service.core.errors import AllocatorError, InvalidQuestion, UnknownStrategy
from service.core.kafka_versions import LATEST
from service.core.releases import numbers
from service.decisions.budget import Budget
from service.decisions.groups.answer import GroupAnswer, answer
from service.decisions.groups.question import of_rows, strategy
from service.descriptions.bodies import group_assignment
from service.descriptions.leaders import clients_of, leader_of
from service.descriptions.model import Description
from service.descriptions.partitioner_history import KeyChange, key_changes
from service.descriptions.placer_history import BrokerReleases, PlacementChange, check_zookeeper, placement_changes
from service.descriptions.upgrade_steps import steps_of
from service.planner.assignor_changes import restarts
from service.planner.rebalances.moves import differences, final_rows, moves
from service.strategies import GROUP_PROTOCOLS, Assignor, of_client

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
            check_zookeeper(release)
            return cls(KAFKA, release, zookeeper=True)
        return cls(name, release or None)


@dataclass(frozen=True)
class GroupChange:
    """What an upgrade does to a group.

    before, after : the names of its assignors, with their clients' releases
    assigned_differently : partitions that the next rebalance assigns to other members than without the upgrade
    moved : partitions that change hands in the first rebalance after it; moved_without_upgrade : that would without it
    steps : how its members get there
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
    notes: tuple[str, ...] = ()
    problem: str | None = None


@dataclass(frozen=True)
class Upgrade:
    """What an upgrade changes.

    groups : those that it concerns; others : the number of those that it does not
    keys : the default partitioners, before and after, by topic
    placements : the placers of brokers, before and after, by topic
    notes : what is assumed for all
    """

    groups: tuple[GroupChange, ...]
    others: int
    keys: tuple[KeyChange, ...]
    placements: tuple[PlacementChange, ...]
    notes: tuple[str, ...]


def upgrade(description: Description, before: Software, after: Software) -> Upgrade:
    """Raises InvalidQuestion for two states of which the second does not follow the first."""
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
    concerned = [(group, *ways) for group in description.groups if (ways := _ways(group, *states)) is not None]
    changes = tuple(_change(description, *each, problem=problem if same else None) for each in concerned)
    keys = tuple(key_changes(description, _client(before), before.release, _client(after), after.release))
    placements = tuple(placement_changes(description, *map(_brokers, states))) if before.name == KAFKA else ()
    return Upgrade(changes, len(description.groups) - len(changes), keys, placements, tuple(notes))


def _brokers(state: Software) -> BrokerReleases:
    return BrokerReleases(state.release, zookeeper=state.zookeeper)


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


def _ways(group: Json, before: Software, after: Software) -> tuple[Json, Json] | None:
    """How a group is assigned before and after, as fields of questions; None for a group that the upgrade does not concern."""
    protocol, assignor = group.get("group_protocol", "classic"), group.get("assignor")
    if not group.get("members") or assignor is None or protocol not in GROUP_PROTOCOLS:
        return None
    if protocol != "classic":
        releases = [{"kafka_version": state.release or LATEST} for state in (before, after)]
        return (releases[0], releases[1]) if before.name == KAFKA else None
    leader = leader_of(group)
    client = leader.client if leader else "java"
    now: Json = {} if leader is None else leader.fields
    if before.name in PROTOCOLS:
        if before.name == CLASSIC:
            return now, {"group_protocol": CONSUMER, "assignor": "uniform", "client": None, "client_version": None}
        name = next((each for each in _names(client) if _is(client, each, after.name)), None)
        return (now, {**now, "assignor": name}) if _is(client, assignor, before.name) and name else None
    if client != _client(before):
        return None
    old, new = ({"client": _client(state), "client_version": state.release} for state in (before, after))
    return old, {**new, "assignor": _successor(client, _client(after), assignor)}


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
    notes = (f"{leader.sentence[:1].upper()}{leader.sentence[1:]}.",) if leader and len(leader.candidates) > 1 else ()
    named = group["assignor"]
    try:
        old, new = (strategy(question) for question in questions)
        named = _titled(old)
        clients = dict.fromkeys([leader.client if leader else "java", *clients_of(group)])
        steps = tuple(steps_of(old, new, list(clients), questions[1].protocol, questions[0].protocol))
        known = GroupChange(group["group_id"], named, _titled(new), steps=steps, notes=notes, problem=problem)
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
    moved = [len(moves(group, each)) for each in rows]
    return replace(
        change, assigned_differently=len(found), moved=moved[1], moved_without_upgrade=moved[0], notes=(*change.notes, *sentences)
    )


def _titled(assignor: Assignor) -> str:
    of = assignor.implementation
    return f"{of.client} {of.release} {assignor.protocol_name}" if of else assignor.name


def document(found: Upgrade) -> dict[str, Any]:
    """The upgrade as JSON."""
    return {
        "groups": [vars(group) for group in found.groups],
        "groups_not_concerned": found.others,
        "keys": [vars(change) for change in found.keys],
        "placements": [vars(change) for change in found.placements],
        "notes": found.notes,
    }
