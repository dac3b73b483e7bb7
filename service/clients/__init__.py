"""The assignors of clients other than Kafka's own: what the group's leader assigns if it is one of theirs.

One folder or module per client; each has a table ``ASSIGNORS``. A name is ``client:assignor``, the assignor as the client's
configuration calls it. Where a client leaves something to chance (the order in which Go goes through a map, the seed of
Python's hashes), the answer is what all of its runs have in common, and ``Assignment.left_open`` the rest. Where it throws,
never returns or ends its own process, KafkaAssignorFails says so, with the client as its ``library``.
"""

from typing import Final

from service.clients import aiokafka, franz_go, kafka_go, kafka_python, kafkajs, librdkafka, sarama
from service.core.assignors.model import Assignor

CLASSIC: Final[tuple[Assignor, ...]] = (
    *librdkafka.ASSIGNORS,
    *franz_go.ASSIGNORS,
    *sarama.ASSIGNORS,
    *kafka_python.ASSIGNORS,
    *aiokafka.ASSIGNORS,
    *kafkajs.ASSIGNORS,
    *kafka_go.ASSIGNORS,
)
"""Those of the classic protocol, in which a member assigns; in the others the broker does, whatever the client."""
