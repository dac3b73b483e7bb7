"""The question: a group of Kafka Streams, its tasks and who had which."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from service.clients.streams.classic.clients import StreamsSettings

Row = Mapping[str, Any]


@dataclass(frozen=True)
class StreamsQuestion:
    """A group of Streams.

    subtopologies : rows (see ``api.streams``), each well-formed, at least one
    members : of the streams protocol, likewise; clients : of the classic protocol. One of them
    member_protocol : streams (the broker assigns) or classic (the group leader does); default: streams
    assignor, kafka_version : default: that of the protocol, and its newest release
    num_standby_replicas : of the group
    max_warmup_replicas, acceptable_recovery_lag, rack_aware_assignment_* : settings of the leader of a classic group
    topics : rows with the racks of partitions, for ``rack_aware_assignment_strategy``
    group_id : what the group is called in metrics
    """

    subtopologies: Sequence[Row]
    members: Sequence[Row] | None = None
    clients: Sequence[Row] | None = None
    member_protocol: str | None = None
    assignor: str | None = None
    kafka_version: str | None = None
    num_standby_replicas: int = 0
    max_warmup_replicas: int = StreamsSettings.max_warmup_replicas
    acceptable_recovery_lag: int = StreamsSettings.acceptable_recovery_lag
    rack_aware_assignment_tags: Sequence[str] = ()
    rack_aware_assignment_strategy: str | None = None
    rack_aware_assignment_traffic_cost: int | None = None
    rack_aware_assignment_non_overlap_cost: int | None = None
    topics: Sequence[Row] = ()
    group_id: str | None = None

    protocol: ClassVar[str] = "streams"

    @property
    def is_classic(self) -> bool:
        """Does the group leader assign?"""
        return self.member_protocol == "classic"

    @property
    def holders(self) -> tuple[str, str, Sequence[Row]]:
        """Of the rows that get tasks: their field, the field of their names, and the rows."""
        if self.is_classic:
            return "clients", "process_id", self.clients or ()
        return "members", "member_id", self.members or ()
