"""The strategies installed, plug-ins included, as rows."""

from collections.abc import Iterator
from typing import Any

from service.clients.connect import PROTOCOLS as CONNECT
from service.clients.connect import ConnectAssignor
from service.clients.streams import BROKERS
from service.clients.streams.classic import LEADERS
from service.clients.streams.classic.clients import LeadersAssignor
from service.clients.streams.model import StreamsAssignor
from service.core.partitioners import PARTITIONERS
from service.decisions.rebalances.question import rebalance_protocol_of
from service.strategies import GROUP_PROTOCOLS, PLACERS, Assignor


def partitioners() -> list[dict[str, Any]]:
    """The partitioners, in the order of GET /v1/partitioners."""
    return [
        {
            "partitioner": partitioner.name,
            **partitioner.implementation_fields,
            "used_by": partitioner.used_by,
            "notes": partitioner.notes,
            "setting": partitioner.setting,
            "aliases": partitioner.aliases,
            "hash": partitioner.hash and partitioner.hash.name,
            "sign_rule": partitioner.sign and f"{partitioner.sign.name}: {partitioner.sign.rule}",
            "null_key": partitioner.null.rule,
            "empty_key": partitioner.empty_key,
            "explicit_partition": partitioner.explicit.rule,
            "key_encoding": partitioner.encoding.name,
            "key_formats": partitioner.encoding.formats,
            "options": partitioner.options,
            "summary": partitioner.summary,
        }
        for partitioner in PARTITIONERS
    ]


def assignors() -> list[dict[str, Any]]:
    """The assignors of every group protocol."""
    return [
        {
            "group_protocol": group_protocol,
            "assignor": assignor.name,
            "aliases": assignor.aliases,
            **assignor.implementation_fields,
            "summary": assignor.summary,
            "setting": assignor.setting,
            "is_default": assignor.is_default,
            "rebalance_protocol": rebalance_protocol_of(group_protocol, assignor) if isinstance(assignor, Assignor) else None,
            "kafka_versions": assignor.kafka_versions,
            "client_versions": assignor.client_releases,
        }
        for group_protocol, assignor in _assignors()
    ]


def _assignors() -> Iterator[tuple[str, Assignor | ConnectAssignor | StreamsAssignor | LeadersAssignor]]:
    """(group protocol, assignor) of each."""
    for group_protocol, assignors in GROUP_PROTOCOLS.items():
        yield from ((group_protocol, assignor) for assignor in assignors)
    yield from (("connect", assignor) for assignor in CONNECT)
    yield from (("streams", assignor) for assignor in (*BROKERS, *LEADERS))


def placers() -> list[dict[str, Any]]:
    """The placers."""
    return [
        {
            "placer": placer.name,
            **placer.implementation_fields,
            "summary": placer.summary,
            "kafka_versions": placer.kafka_versions,
        }
        for placer in PLACERS
    ]
