"""How a classic group goes over from one assignor to another by rolling restarts, and which libraries refuse to (KIP-429)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.core.assignors import GROUP_PROTOCOLS
from service.core.assignors.clients.kafka_python.strategies import check_list
from service.core.assignors.clients.librdkafka.strategies import strategies
from service.core.errors import InvalidQuestion

if TYPE_CHECKING:
    from service.core.assignors.model import Assignor


def restarts(old: Assignor, new: Assignor) -> tuple[tuple[Assignor, ...], ...]:
    """The list of assignors that all members have after each rolling restart: one restart, or two.

    Until all members support the new assignor the group uses the old one, which may go only then. Members of another client
    support that client's assignor of the old name meanwhile. Raises InvalidQuestion where the client has none of that name, or
    refuses a list with both; then all members must stop at once. One restart is enough if members of one list the other.
    """
    if new.protocol_name in _names(old):
        return (new.listed,)
    client, registry = new.name.rpartition(":")[0], GROUP_PROTOCOLS["classic"]
    meanwhile = old
    if client != old.name.rpartition(":")[0]:
        name = f"{client}:{old.protocol_name}" if client else old.protocol_name
        if name not in registry.names():
            detail = f"Clients of {client} have no assignor {old.protocol_name!r}, which the others still use meanwhile"
            raise InvalidQuestion(f"{detail}: all members must stop before the group changes to {new.name}.")
        meanwhile = registry[name]
    if meanwhile.protocol_name in _names(new):
        return (new.listed,)
    if client == "librdkafka":
        strategies(f"{new.protocol_name},{meanwhile.protocol_name}")
    elif client == "kafka-python":
        check_list((new, meanwhile))
    return (*new.listed, *meanwhile.listed), new.listed


def _names(assignor: Assignor) -> list[str]:
    """What members that use an assignor list."""
    return [each.protocol_name for each in assignor.listed]
