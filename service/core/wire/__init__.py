"""The bytes that Kafka's clients and coordinators exchange and keep, read as Kafka reads them.

::

    schemas.py               which fields each message has, in which versions: a table
    messages.py              reads any message of the table
    reader.py                the primitives, and the errors that say where reading failed
    consumer_protocol.py     Subscription, Assignment, and the user data of the sticky assignors
    coordinator_records.py   the keys and values of ``__consumer_offsets`` and ``__share_group_state``
    members.py               captured members and groups as requests to ``/v1/group-assignments``
    printed.py               the lines that Kafka's own formatters print of them
    offset_commits.py        offset commits by the million: the same, as columns
"""
