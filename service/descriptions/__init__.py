"""Descriptions of a cluster that people have at hand → brokers, topics and groups in the shape of the request bodies.

======================= ========================================================================================================
form                    text
======================= ========================================================================================================
kafka-topics            ``kafka-topics --describe``
kafka-consumer-groups   ``kafka-consumer-groups --describe``, with any of ``--members``, ``--state``, ``--offsets``, ``--verbose``
brokers                 ``kafka-broker-api-versions``, ``kafka-cluster list-endpoints``, ``kafka-configs --describe --entity-type
                        brokers --all``, or a table ``broker,rack``
log-dirs                ``kafka-log-dirs --describe``
coordinator records     ``kafka-console-consumer --topic __consumer_offsets`` with one of Kafka's formatters (Kafka 3.9 and later)
reassignment            the JSON that ``kafka-reassign-partitions`` reads and writes
kafka-share-groups      ``kafka-share-groups --describe`` and ``kafka-streams-groups --describe``
kafka-get-offsets       ``kafka-get-offsets``: the ends of logs, or with ``--time -2`` their starts
kcat                    ``kcat -L``, also with ``-J``
rpk                     Redpanda's ``rpk topic describe``, ``rpk group describe``, ``rpk cluster metadata``
connect                 Kafka Connect's ``/connectors?expand=status`` and ``/connectors/NAME/status``
burrow, kt              Burrow's ``/consumer/GROUP`` and ``/lag``; the JSON of ``kt group``
topics                  JSON of topics with their partitions: ``kt topic``, clients, consoles
strimzi                 Strimzi's KafkaTopic as YAML or JSON, ``kubectl get kafkatopics``
consumer-logs           logs of Kafka's consumer and of librdkafka: what a group was assigned
cruise-control          Cruise Control's ``kafka_cluster_state?json=true&verbose=true``
snapshot                the JSON that ``partition-allocator snapshot`` writes, or any of its lists of brokers, topics and groups
======================= ========================================================================================================

A text may contain several of them, in any order, and what a terminal shows around them: prompts, log lines, notices. Lines of no
form are skipped and counted. A line that belongs to a form but is damaged or cut off is an error, with its number.
"""

from service.descriptions.model import Description, UnreadableDescription
from service.descriptions.pasted import read_description

__all__ = ["Description", "UnreadableDescription", "read_description"]
