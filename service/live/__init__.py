"""A live Kafka cluster, read through its own protocol. Nothing here writes to a cluster.

::

    properties.py       the properties files of Kafka's own tools → the settings of a client
    security/           login modules and tokens → SASL settings; PEM, JKS and PKCS12 stores → an ``ssl.SSLContext``
    client.py           connections to the brokers, and requests over them
    records.py          records of a topic, and a sample of its newest ones
    messages/           the definitions of the requests that the client library does not know
    topics.py           brokers, topics, placements, sizes, offsets
    groups.py           groups of all protocols of Kafka's, and committed offsets
    connect.py          groups of Kafka Connect, and their last rebalance computed again
    offsets_topic.py    what only ``__consumer_offsets`` tells about groups
    snapshot.py         all of it as one snapshot
    verification.py     a snapshot against what Kafka would decide; findings.py: what that finds
    cluster_metrics.py  a snapshot as Prometheus metrics

kafka-python (the extra ``kafka``) has the connections, TLS and SASL; only this package imports it.
"""
