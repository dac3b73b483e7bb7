"""The bytes that Kafka's clients and coordinators exchange and store, read as Kafka reads them.

::

    schemas.py               the fields of each message in each version
    messages.py              what schemas are made of;  schema_tables.py   the schemas as a table for kernels
    spans.py                 the kernel that reads any message: where each value lies, or the fault and its place
    reader.py                one message as a document, or Kafka's exception
    consumer_protocol.py     Subscription, Assignment, and the user data of the sticky assignors
    coordinator_records.py   the keys and values of ``__consumer_offsets`` and ``__share_group_state``
    members.py               captured members and groups as requests for ``/v1/group-assignments``
    formatters/              what Kafka's own formatters print: lines.py, of_3_9.py, and scala.py for deprecated ones
    offset_commits.py        offset commits in bulk, as columns
    record_texts.py          records of every type in bulk, as JSON
    offsets_topic.py         the groups that the records of ``__consumer_offsets`` describe
"""
