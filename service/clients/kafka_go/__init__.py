"""segmentio/kafka-go: its group leader's balancers.

Members stand in the order of the bytes of their member_ids. The previous assignment and instance_ids play no part.

Source: groupbalancer.go, consumergroup.go of each of RELEASES.
"""

from functools import partial
from typing import Final

from service.core.assignors.model import Assignor
from service.core.later import Later
from service.core.registry import Implementation

rack_affinity = Later("service.clients.kafka_go.rack_affinity")
topics = Later("service.clients.kafka_go.topics")

RELEASES: Final = ("0.3.10", "0.4.20", "0.4.51")
RELEASE: Final = RELEASES[-1]

ASSIGNORS: Final[tuple[Assignor, ...]] = (
    Assignor(
        name="kafka-go:range",
        run=partial(topics.assign, in_ranges=True),
        implementation=Implementation("kafka-go", RELEASE, "RangeGroupBalancer"),
        client_releases=RELEASES,
        summary="Topic by topic, each subscriber gets a run of partitions; the longer runs are spread over the subscribers.",
        setting="GroupBalancers: []kafka.GroupBalancer{kafka.RangeGroupBalancer{}}",
        is_default=True,
    ),
    Assignor(
        name="kafka-go:roundrobin",
        run=partial(topics.assign, in_ranges=False),
        implementation=Implementation("kafka-go", RELEASE, "RoundRobinGroupBalancer"),
        client_releases=RELEASES,
        summary="Topic by topic, partitions go to the subscribers in turn; each topic begins with the first.",
        setting="GroupBalancers: []kafka.GroupBalancer{kafka.RoundRobinGroupBalancer{}}",
    ),
    Assignor(
        name="kafka-go:rack-affinity",
        run=rack_affinity.assign,
        implementation=Implementation("kafka-go", RELEASE, "RackAffinityGroupBalancer"),
        client_releases=RELEASES,
        summary="Topic by topic, as even as possible, and on the rack of the partition's leader where that is possible.",
        setting="GroupBalancers: []kafka.GroupBalancer{kafka.RackAffinityGroupBalancer{Rack: rack}}",
    ),
)
