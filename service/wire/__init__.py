"""The bytes that Kafka's clients and coordinators exchange and store, read as Kafka reads them.

::

    schemas.py               what schemas are made of, and the fields of each message in each version
    spans.py                 the schemas as a table, and the kernel that reads any message by it: where values lie, or the fault
    reader.py                one message as a document, or Kafka's exception
    consumer_protocol.py     Subscription, Assignment, and the user data of the sticky assignors
    connect_protocol.py      what the workers of Connect's groups send and are sent
    coordinator_records.py   the keys and values of ``__consumer_offsets`` and ``__share_group_state``, also in bulk as JSON
    formatters.py            what Kafka's own formatters print, those in Scala, too, which are deprecated
    offset_commits.py        offset commits in bulk, as columns
    offsets_topic.py         the groups that the records of ``__consumer_offsets`` describe, as requests for
                             ``/v1/group-assignments``
"""
