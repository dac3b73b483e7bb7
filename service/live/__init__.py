"""A live Kafka cluster, read through its own protocol. Nothing here writes to a cluster.

::

    properties.py       the properties files of Kafka's own tools → the settings of a client
    sasl.py, oauth.py   login modules and tokens → the SASL settings of a client
    key_stores.py       PEM, JKS and PKCS12 stores → an ``ssl.SSLContext``
    client.py           connections to the brokers, and requests over them
    bounded_connections.py, bounded_decoding.py   the library's connections and decoders, for brokers that are not trusted
    bounded_records.py  the same for compressed records, of producers that are not trusted either
    sample.py           a sample of a topic's newest records
    messages/           the definitions of the requests that the client library does not know
    topics.py           brokers, topics, placements, sizes, offsets
    groups.py           groups of the classic, consumer and share protocols, and committed offsets
    streams_groups.py   groups of the streams protocol
    offsets_topic.py    what only ``__consumer_offsets`` tells about groups
    snapshot.py         all of it as one snapshot

kafka-python (the extra ``kafka``) has the connections, TLS and SASL; only this package imports it.
"""
