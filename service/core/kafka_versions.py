"""The Kafka releases that answers differ by.

The classes of each release's jars were compared, and vectors made with those jars are tests. These releases are alike:

================================ =================================================================================================
releases                         the same answers
================================ =================================================================================================
4.0.0 … 4.3.1                    classic: all four; consumer: range, and uniform where subscriptions differ
4.0.1 … 4.3.1                    consumer: uniform where subscriptions are the same (KAFKA-18688 changed it)
4.2.0 … 4.3.1                    share: simple
================================ =================================================================================================

The brokers of 3.x had the consumer protocol as a preview, with other assignors, and those of 4.0 and 4.1 share groups likewise:
their answers are not offered.
"""

from typing import Final

RELEASES: Final = ("4.0.0", "4.0.1", "4.0.2", "4.1.0", "4.1.1", "4.1.2", "4.2.0", "4.2.1", "4.3.0", "4.3.1")
"""The releases whose group coordinators and classic assignors are reproduced, oldest first."""

LATEST: Final = RELEASES[-1]
"""The default of every request."""

ADMIN_UTILS: Final = ("0.10.2.1", "3.9.2", "4.0.2", LATEST)
"""The releases whose AdminUtils is reproduced; the last one, which no longer has it, stands for 4.0.2."""

FORMATTERS: Final = (LATEST, "0.10.2.1")
"""The releases whose formatters' lines are printed, newest first; the older one has no share groups."""
