"""A group's timeline: the rebalances that events cause, as broker and clients would go through them (Apache Kafka 4.3.1).

A discrete-event simulation of one group coordinator and the group's members. Time is arithmetic: a request takes none on its way,
and only what Kafka waits for takes any (heartbeats, polls, time-outs, delays, metadata refreshes).

* ``model``: timing, events, the timeline, and what comes out of it
* ``topics``, ``members``: what exists when, and who is there; ``clock``: what happens next
* ``group``: what both protocols share: the events, and rolling restarts
* ``classic``, ``consumer``, ``share``: the coordinator of each protocol with its members
* ``paces``: when members heartbeat and poll
* ``ledger``: which partitions nobody reads, and for how long
"""
