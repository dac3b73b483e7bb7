"""A group's timeline: the rebalances that events cause, as broker and clients would go through them.

A discrete-event simulation of one group coordinator and the group's members. Time is arithmetic: a request takes none on its way,
and only what Kafka waits for takes any (heartbeats, polls, time-outs, delays, metadata refreshes).

* ``model``: timing, events, the timeline, and what comes out of it
* ``topics``, ``members``: what exists when, and who is there, heartbeats and polls
* ``ledger``: which partitions no member reads, and for how long
* ``course``: what a group's coordinator, its clients and the events have in common: what happens next, and the group as an
  assignor sees it
* ``classic``, ``consumer``, ``share``: the coordinator of each protocol, and the clients, which hold it and are answered by it
* ``simulation``: what each event does; rolling restarts; a timeline from its start to its end
"""
