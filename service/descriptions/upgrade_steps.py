"""How the members of a group get from one assignor or protocol to another, as their libraries accept it."""

from collections.abc import Iterator, Sequence
from typing import Final

from service.core.assignors import Assignor
from service.core.errors import InvalidQuestion
from service.planner.assignor_changes import counterpart, restarts

CONSUMER_SINCE: Final = {"java": "4.0", "librdkafka": "2.12", "franz-go": "1.22"}
"""The first releases of clients whose consumers have the consumer protocol (KIP-848) for production. The newest releases of the
other clients that are compared send no ConsumerGroupHeartbeat.
"""
CONSUMER_SETTINGS: Final = {"franz-go": "kgo.ServerSideBalancer()"}
"""What makes a client's member one of the consumer protocol, where that is not Java's setting."""
JAVAS_CONSUMER_SETTING: Final = (
    "group.protocol=consumer and without partition.assignment.strategy, session.timeout.ms and heartbeat.interval.ms, which the "
    "broker has then"
)
BRACKETS: Final = (
    ("kgo.Balancers(", ")"),
    ("kafka.GroupBalancer{", "}"),
    ("=[", "]"),
    (": [", "]"),
    ("=", ""),
    (": ", ""),
)
"""What stands around the assignors in the setting of a client, the first that it has."""
REMOTE: Final = "partition.assignment.strategy=partitionallocator.clients.RemoteAssignor"
"""The setting of ``balanced``, which is no client's own."""


def steps_of(old: Assignor, new: Assignor, clients: list[str], protocol: str, old_protocol: str) -> Iterator[str]:
    """How the members get from one assignor to the other, as their libraries accept it. clients : the leader's, and others'"""
    if protocol != old_protocol:
        yield from _steps_to_consumer(clients, old)
        return
    if protocol != "classic":
        yield "Upgrade the brokers one by one. The coordinator assigns by its own release, at the group's next rebalance."
        return
    others = () if old.protocol_name == new.protocol_name else clients[1:]
    try:
        lists = [restarts(old, new), *(restarts(counterpart(each, old), counterpart(each, new)) for each in others)]
    except InvalidQuestion as refusal:
        yield f"Rolling restarts are refused. {refusal.detail}"
        yield f"Stop all members, configure {_settings_to_start_with(new, others)}, and start them: nothing is read meanwhile."
        return
    count = max(map(len, lists))
    of = f" of {clients[0]}" if len(clients) > 1 and not others else ""
    for i in range(count):
        settings = _settings([each[i] for each in lists if i < len(each)], clients[0])
        yield f"Restart the members{of} one by one with {settings}{' as it is' if old.name == new.name else ''}."
        if i < count - 1:
            yield "Wait until all members have joined: until then the group uses the old assignor."
    if old.protocol_name == new.protocol_name:
        yield "The group is assigned by whichever member leads, so by the old library until its leader has been restarted."


def _settings(lists: list[tuple[Assignor, ...]], client: str) -> str:
    """What members are restarted with; each client is named unless it is this one alone. lists : of each client"""
    named = {_client_name(each[0]): setting_of(each) for each in lists}
    if list(named) == [client]:
        return named[client]
    return ", or ".join(f"{name} and {setting}" for name, setting in named.items())


def _settings_to_start_with(new: Assignor, others: Sequence[str]) -> str:
    """What the members that were stopped are configured with. others : clients in the group besides those of this assignor"""
    lists, lacking = [new.listed], []
    for client in others:
        try:
            lists.append(counterpart(client, new).listed)
        except InvalidQuestion:
            lacking.append(client)
    instead = f" (in place of {' and '.join(lacking)}, which cannot)" if lacking else ""
    return _settings(lists, _client_name(new)) + instead


def _client_name(assignor: Assignor) -> str:
    return assignor.name.rpartition(":")[0] or "java"


def setting_of(assignors: tuple[Assignor, ...]) -> str:
    """The configuration that has these assignors, the first of them preferred."""
    settings = [each.setting or REMOTE for each in assignors]
    left, right = next(pair for pair in BRACKETS if pair[0] in settings[0])
    values = [setting.partition(left)[2].removesuffix(right) for setting in settings]
    return f"{settings[0].partition(left)[0]}{left}{(',' if left == '=' else ', ').join(values)}{right}"


def _steps_to_consumer(clients: list[str], old: Assignor) -> Iterator[str]:
    """Clients : the leader's, and others of the group"""
    settings = {}
    for client in clients:
        since = CONSUMER_SINCE.get(client)
        if since is None:
            known = [f"{name} since {release}" for name, release in CONSUMER_SINCE.items()]
            release = f" {old.implementation.release}" if old.implementation and old.implementation.client == client else ""
            lacking = f"{client}{release} does not have the consumer protocol"
            yield f"{lacking}: wait for a release that has it, or change to a client that has it, as {', '.join(known)}."
        else:
            of = "" if len(clients) == 1 else f" of {client}"
            yield f"Upgrade the members{of} to {client} {since} or later, and the brokers to 4.0 or later."
        settings[CONSUMER_SETTINGS.get(client, JAVAS_CONSUMER_SETTING)] = client
    yield "Leave group.consumer.migration.policy of the brokers at bidirectional, so that members of both protocols can mix."
    named = [each if len(settings) == 1 else f"{client} and {each}" for each, client in settings.items()]
    yield f"Restart the members one by one with {', or '.join(named)}. The first of them converts the group."
