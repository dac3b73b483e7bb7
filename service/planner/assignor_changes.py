"""How a classic group goes over from one assignor to another by rolling restarts, and which libraries refuse to (KIP-429)."""

from typing import Final

from service.clients import kafka_python, librdkafka
from service.core.assignors.model import Assignor
from service.core.errors import InvalidQuestion
from service.strategies import GROUP_PROTOCOLS, of_client

JAVA: Final = "java"

_OWNED: Final = "a leader of kafka-go reads no subscription that says what its member owns"
_CUT_SHORT: Final = "a leader of {} does not read the subscriptions of kafka-go, which are cut short"

LEADERS_THAT_REFUSE: Final = {
    "kafka-go": ({JAVA, "librdkafka", "franz-go", "sarama"}, _OWNED),
    JAVA: ({"kafka-go"}, _CUT_SHORT.format("Java's client")),
    "kafka-python": ({"kafka-go"}, _CUT_SHORT.format("kafka-python")),
}
"""Of each client, the clients whose members its leader refuses, and why: the group then never gets an assignment.

Source: ConsumerGroup.makeMemberProtocolMetadata of kafka-go 0.4.51; ConsumerProtocol.deserializeSubscription of Kafka 4.3.1 and
ConsumerProtocolSubscription of kafka-python 3.0.12, put to kafka-go's bytes. aiokafka, sarama and franz-go read them; librdkafka
assigns nothing to the member.
"""


def restarts(old: Assignor, new: Assignor) -> tuple[tuple[Assignor, ...], ...]:
    """The list of assignors that all members have after each rolling restart: one restart, or two.

    Until all members support the new assignor the group uses the old one, which may go only then. One restart is enough if
    members of one list the other. Between two of different clients, members with both assignors are those of the new client, or
    else of the old one. Raises InvalidQuestion where neither client has both, or accepts a list of both, or where a leader of one
    refuses members of the other; then all members must stop at once.
    """
    clients = [each.name.rpartition(":")[0] or JAVA for each in (old, new)]
    for leader in clients if clients[0] != clients[1] else ():
        refused, why = LEADERS_THAT_REFUSE.get(leader, (frozenset[str](), ""))
        if refused.intersection(clients):
            raise InvalidQuestion(f"Members of both clients cannot be in one group: {why}. All members must stop.")
    if new.protocol_name in _names(old):
        return (new.listed,)
    refusals = []
    for client in dict.fromkeys(reversed(clients)):
        try:
            before, after = (counterpart(client, each) for each in (old, new))
            if before.protocol_name in _names(after):
                return (new.listed,)
            return _list_of_both(client, after, before), new.listed
        except InvalidQuestion as refusal:
            refusals.append(refusal)
    raise refusals[0]


def counterpart(client: str, assignor: Assignor) -> Assignor:
    """The client's assignor of the same name. Raises InvalidQuestion if it has none."""
    name = of_client("classic", client, assignor.protocol_name)
    if name == assignor.name:
        return assignor
    if name not in GROUP_PROTOCOLS["classic"].names():
        detail = f"Clients of {client} have no assignor {assignor.protocol_name!r}"
        raise InvalidQuestion(f"{detail}, through which the group could change over: all members must stop.")
    return GROUP_PROTOCOLS["classic"][name]


def _list_of_both(client: str, new: Assignor, old: Assignor) -> tuple[Assignor, ...]:
    """Raises InvalidQuestion, in the client's words, if it refuses a list of both."""
    if client == "librdkafka":
        librdkafka.check_list((new, old))
    elif client == "kafka-python":
        kafka_python.check_list((new, old))
    return (*new.listed, *old.listed)


def _names(assignor: Assignor) -> list[str]:
    """What members that use an assignor list."""
    return [each.protocol_name for each in assignor.listed]
