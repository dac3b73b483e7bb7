"""The question: a group, what happens to it, and other ways to run it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from service.core.errors import InvalidQuestion, UnknownStrategy
from service.core.kafka_versions import LATEST
from service.decisions.groups.rows import member_faults, topic_faults
from service.planner.timelines.model import Timing
from service.planner.timelines.simulation import Variant
from service.strategies import GROUP_PROTOCOLS, KAFKAS, Assignor, of_client

Row = Mapping[str, Any]

EAGER, COOPERATIVE = REBALANCE_PROTOCOLS = ("eager", "cooperative")
"""Kafka's ConsumerPartitionAssignor.RebalanceProtocol (KIP-429)."""

POLL_MS: Final = 1_000
"""How often members poll if that is not known. If all noticed a rebalance at once, none would seem to stop reading."""


@dataclass(frozen=True)
class RebalancesQuestion:
    """A group, and what happens to it; names are not indices yet.

    topics, members : rows (see ``groups.rows``), each well-formed; the group is stable at 0 ms if a member owns anything
    events : rows with ``at_ms``, ``type`` and the fields of that type (see docs/groups.md), each well-formed
    timing : fields of ``Timing``, and ``min_session_timeout_ms`` of the broker; absent or None: Kafka's default
    compare : rows with ``group_protocol``, ``assignor``, ``rebalance_protocol`` and ``static``; absent or None: as the group is
    rebalance_protocol : how the clients of an assignor that knows both carry it out, EAGER or COOPERATIVE, its default
    detail : "totals", "rebalances" or "assignments"; None: as much as is not too much
    random_seed : of the ids that members draw; default 0
    client, client_version : the library of a classic group's clients at 0 ms, and its release; default: Java's, and the newest
    group_id : what the group is called in metrics
    price_per_gb : of what crosses zones; None: not known
    """

    topics: pa.StructArray
    members: pa.StructArray
    events: Sequence[Row] = ()
    timing: Row = field(default_factory=dict)
    compare: Sequence[Row] = ()
    group_protocol: str | None = None
    assignor: str | None = None
    rebalance_protocol: str | None = None
    kafka_version: str = LATEST
    client: str | None = None
    client_version: str | None = None
    group_id: str | None = None
    price_per_gb: float | None = None
    random_seed: int | None = None
    detail: str | None = None
    explain: bool = False

    @property
    def protocol(self) -> str:
        """The group protocol at 0 ms."""
        return self.group_protocol or "classic"


def faults(question: RebalancesQuestion) -> Iterator[InvalidQuestion]:
    """What is wrong between the fields of a question."""
    is_known = True
    try:
        strategy(question)
    except InvalidQuestion as fault:
        is_known = False
        yield fault
    if question.protocol in KAFKAS:
        yield from timing_faults(question)
        yield from _event_faults(question)
    yield from topic_faults(question.topics)
    yield from member_faults(question.members)
    for place, rows, name, detail in (
        ("topics", question.topics, "lag", "A simulation needs rates: set partition_weights instead of lag."),
        ("members", question.members, "capacity", "A simulation treats all members alike: leave out capacity."),
    ):
        given = np.flatnonzero(rows.field(name).is_valid().to_numpy(zero_copy_only=False))
        yield from (InvalidQuestion(detail, place, at, name) for at in given[:1].tolist())
    if is_known:
        yield from _comparison_faults(question)


def strategy(question: RebalancesQuestion) -> Assignor:
    """The assignor at 0 ms. Raises UnknownStrategy, and InvalidQuestion for a release or protocol that it does not have."""
    protocol, name, client = question.protocol, question.assignor, question.client
    if client is not None and protocol in KAFKAS:
        name = of_client(protocol, client, name)
    chosen = _resolved(protocol, name, question.kafka_version)
    if question.client_version:
        chosen = chosen.of_release(question.kafka_version, question.client_version).drawn(0)
    return _carried_out(protocol, chosen, question.rebalance_protocol)


def _carried_out(protocol: str, assignor: Assignor, rebalance_protocol: str | None) -> Assignor:
    """The assignor with clients of this rebalance protocol. Raises InvalidQuestion if they have another."""
    if rebalance_protocol is not None and protocol != "classic":
        raise InvalidQuestion("Only classic groups are eager or cooperative.", "rebalance_protocol")
    if rebalance_protocol == EAGER and assignor.wraps is not None:
        return replace(assignor, wraps=None)
    own = COOPERATIVE if assignor.is_cooperative else EAGER
    if rebalance_protocol not in (None, own):
        raise InvalidQuestion(f"{assignor.name} is {own}.", "rebalance_protocol")
    return assignor


def rebalance_protocol_of(group_protocol: str, assignor: Assignor) -> str | None:
    """The rebalance protocol of a classic group; the other protocols have one way each."""
    if group_protocol != "classic":
        return None
    return COOPERATIVE if assignor.is_cooperative else EAGER


def _resolved(protocol: str, assignor: str | None, version: str) -> Assignor:
    """An assignor of a protocol by its name, or its default. Raises UnknownStrategy."""
    if protocol not in KAFKAS:
        raise UnknownStrategy("group_protocol", protocol, tuple(KAFKAS))
    registry = GROUP_PROTOCOLS[protocol]
    return (registry.builtins[0] if assignor is None else registry[assignor]).at(version).drawn(0)


def timing(question: RebalancesQuestion, protocol: str) -> Timing:
    """What broker and clients wait for, with the defaults of a protocol."""
    own = {name: value for name, value in question.timing.items() if value is not None and name != "min_session_timeout_ms"}
    timing = Timing(**{"heartbeat_interval_ms": 3_000 if protocol == "classic" else 5_000, **own})
    return timing if "poll_interval_ms" in own else at_pace(timing, POLL_MS)


def at_pace(timing: Timing, poll_interval_ms: int) -> Timing:
    """The same for members that poll so often, or as often as the rebalance time-out requires."""
    longest = max(0, timing.rebalance_timeout_ms - timing.heartbeat_interval_ms)
    return replace(timing, poll_interval_ms=min(poll_interval_ms, longest))


def assignor_changes(question: RebalancesQuestion, protocol: str) -> dict[int, tuple[str, Assignor]]:
    """The protocol and the assignor that each assignor_changes of the events leads to, by the event's number.

    protocol : of the group at 0 ms. Only a classic group changes it; any other one restarts its members.
    Raises UnknownStrategy for an assignor that the protocol does not have by then.
    """
    changes = {}
    for i, event in enumerate(question.events):
        if event["type"] != "assignor_changes":
            continue
        if protocol == "classic":
            protocol = event.get("group_protocol") or protocol
        try:
            changes[i] = (protocol, _resolved(protocol, (event.get("assignors") or [None])[0], question.kafka_version))
        except UnknownStrategy as error:
            error.field = ("events", i, "assignors", 0)
            raise
    return changes


def variants(question: RebalancesQuestion) -> tuple[Variant, ...]:
    """The other ways to run the group. Raises UnknownStrategy, for an event with its place."""
    return tuple(_variant(question, row) for row in question.compare)


def _variant(question: RebalancesQuestion, row: Row) -> Variant:
    protocol, assignor = row.get("group_protocol") or question.protocol, row.get("assignor")
    as_now = assignor is None and protocol == question.protocol
    carried_out = row.get("rebalance_protocol")
    if as_now:
        chosen = strategy(replace(question, rebalance_protocol=carried_out or question.rebalance_protocol))
    else:
        chosen = _carried_out(protocol, _resolved(protocol, assignor, question.kafka_version), carried_out)
    return Variant(protocol, chosen, row.get("static"), timing(question, protocol), assignor_changes(question, protocol))


def _comparison_faults(question: RebalancesQuestion) -> Iterator[InvalidQuestion]:
    for i, row in enumerate(question.compare):
        try:
            _variant(question, row)
        except UnknownStrategy as fault:
            if not fault.field or fault.field[0] != "events":
                yield InvalidQuestion(fault.detail, "compare", i, fault.kind)
            elif (row.get("group_protocol") or question.protocol) != question.protocol:
                detail = f"The event /events/{fault.field[1]} does not fit this protocol: {fault.detail}"
                yield InvalidQuestion(detail, "compare", i, "group_protocol")
        except InvalidQuestion as fault:
            yield InvalidQuestion(fault.detail, "compare", i, *fault.field)


def timing_faults(question: RebalancesQuestion) -> Iterator[InvalidQuestion]:
    """What is wrong with the timings, by the rules of broker and clients."""
    taken, is_classic = timing(question, question.protocol), question.protocol == "classic"
    session, heartbeat = taken.session_timeout_ms, taken.heartbeat_interval_ms
    least = question.timing.get("min_session_timeout_ms") or (6_000 if is_classic else 45_000)
    most = 1_800_000 if is_classic else 60_000
    if session < least:
        detail = f"Below the broker's minimum of {least} ms (INVALID_SESSION_TIMEOUT)."
        yield InvalidQuestion(detail, "timing", "session_timeout_ms")
    elif session > most:
        detail = f"Above the broker's maximum of {most} ms (INVALID_SESSION_TIMEOUT)."
        yield InvalidQuestion(detail, "timing", "session_timeout_ms")
    if heartbeat >= session:
        detail = "Heartbeat must be set lower than the session timeout."
        yield InvalidQuestion(detail, "timing", "heartbeat_interval_ms")
    if taken.rebalance_timeout_ms < heartbeat + taken.poll_interval_ms:
        detail = "Shorter than a heartbeat interval and a poll interval: members would be removed before they notice a rebalance."
        yield InvalidQuestion(detail, "timing", "rebalance_timeout_ms")


def _event_faults(question: RebalancesQuestion) -> Iterator[InvalidQuestion]:
    """Events that are not in the order of time, and changes that the protocol does not have."""
    protocol, before, fits = question.protocol, 0, True
    for i, event in enumerate(question.events):
        if event["at_ms"] < before:
            yield InvalidQuestion("Must not be earlier than the event before it.", "events", i, "at_ms")
        before = event["at_ms"]
        if "group_protocol" in event:
            if protocol != "classic":
                detail = f"The group's protocol is {protocol}; only a classic group can change its protocol."
                yield InvalidQuestion(detail, "events", i, "group_protocol")
                fits = False
            else:
                protocol = event["group_protocol"]
        elif "assignors" in event and protocol == "share":
            yield InvalidQuestion(
                "The brokers set the assignor of a share group; it cannot change here.", "events", i, "assignors"
            )
            fits = False
    if fits:
        try:
            assignor_changes(question, question.protocol)
        except UnknownStrategy as fault:
            yield fault
