"""What the leaders of Kafka Connect's groups assign: connectors and tasks → workers, by the protocol that a group has chosen."""

from typing import Final

from service.clients.connect import eager, incremental
from service.clients.connect.model import ConnectAssignor
from service.core.kafka_versions import LATEST
from service.core.registry import Implementation

_DISTRIBUTED: Final = "org.apache.kafka.connect.runtime.distributed"
_INCREMENTAL: Final = Implementation("connect", LATEST, f"{_DISTRIBUTED}.IncrementalCooperativeAssignor")

PROTOCOLS: Final = (
    ConnectAssignor(
        name="sessioned",
        run=incremental.assign,
        summary="Workers keep what they run; the leader revokes what is above an even share, and waits for workers that left.",
        implementation=_INCREMENTAL,
        forms={"4.3.1": {}},
        setting="connect.protocol=sessioned",
        is_default=True,
    ),
    ConnectAssignor(
        name="compatible",
        run=incremental.assign,
        summary="As sessioned, without session keys for the REST interface.",
        implementation=_INCREMENTAL,
        forms={"4.3.1": {}},
        setting="connect.protocol=compatible",
    ),
    ConnectAssignor(
        name="eager",
        run=eager.assign,
        summary="Workers stop everything in each rebalance, and get connectors and tasks in turn.",
        implementation=Implementation("connect", LATEST, f"{_DISTRIBUTED}.EagerAssignor"),
        forms={"4.3.1": {}},
        is_cooperative=False,
        setting="connect.protocol=eager",
    ),
)
"""The protocols, the default first."""
