"""The releases of Apache Kafka that answers can be pinned to: a new release is a row here.

A strategy's ``forms`` say since which release it answers as it does (``service.core.registry``). Everything else is alike in all
releases that a request may name. What was compared, by vectors from each release's jars and by the bytecode of their classes:

============= =================================================================================================================
releases      the same answers
============= =================================================================================================================
2.4.1 … 4.4.0 classic: roundrobin
2.4.1 … 3.4.1 classic: range, without racks; the sticky assignors of each differ (``assignors/classic/sticky/rules.py``)
3.9.1 … 4.4.0 classic: range, sticky, cooperative-sticky
4.0.0 … 4.4.0 keys of the producer; coordinator partitions; consumer: range, and uniform where subscriptions differ
4.0.1 … 4.4.0 consumer: uniform where subscriptions are the same (KAFKA-18688 changed it)
4.2.0 … 4.4.0 share: simple
3.4.1 … 4.4.0 the controller's placer (4.3.0 reworded errors); of its requests 4.3.0 to 4.3.1, see ``placers/controller.py``
0.10.2.1 …    AdminUtils, up to its last release, 4.0.2 (``placers/admin_utils.py`` has the words of its refusals)
4.3.1, 4.4.0  timelines, but for members of a consumer group that ask for different assignors, whose heartbeats can raise the
              epoch in 4.4.0 (``timelines/consumer/coordinator.py``); formatters, and what is read of captures, but not the
              words in which malformed ones are refused: those are of 4.3.1; what leaders of Connect and Streams assign;
              co-partitioning; ``kafka-reassign-partitions --generate``
4.4.0         partitioner.rack.aware (KIP-1123)
============= =================================================================================================================

What brokers assign to Streams (``sticky``) is of 4.3.1 and 4.4.0, which differ. MirrorMaker's 4.4.0 is not published. The
brokers of 3.x had the consumer protocol as a preview, with other assignors, and those of 4.0 and 4.1 share groups likewise: their
answers are not offered.
"""

from functools import cache
from typing import Final

RELEASES: Final = (
    "0.10.2.1",
    "2.4.1",
    "2.8.2",
    "3.4.1",
    "3.9.1",
    "3.9.2",
    "4.0.0",
    "4.0.1",
    "4.0.2",
    "4.1.0",
    "4.1.1",
    "4.1.2",
    "4.2.0",
    "4.2.1",
    "4.3.0",
    "4.3.1",
    "4.4.0",
)
"""Oldest first."""

LATEST: Final = RELEASES[-1]
"""The default of every request."""


@cache
def since(release: str) -> tuple[str, ...]:
    """The releases from this one on, oldest first; raises ValueError for one that is not in RELEASES."""
    return RELEASES[RELEASES.index(release) :]


FORMATTERS_3_9: Final = "3.9.1"
"""The release that stands for the formatters of 3.9 (``wire/formatters.py``)."""

FORMATTERS_3_4: Final = "3.4.1"
"""The release that stands for the formatters of 3.4, those that 3.9 deprecates (``wire/formatters.py``)."""

FORMATTERS_2_8: Final = "2.8.2"
"""The release that stands for the formatters of 2.8 (``wire/formatters.py``)."""

WITHOUT_SHARE_GROUPS: Final = (FORMATTERS_3_9, FORMATTERS_3_4, FORMATTERS_2_8, "0.10.2.1")

FORMATTERS: Final = (*reversed(since("4.3.1")), *WITHOUT_SHARE_GROUPS)
"""The releases whose formatters' lines are printed, newest first."""
