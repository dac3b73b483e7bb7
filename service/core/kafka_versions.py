"""Which Kafka releases give which answers.

Found by comparing the classes of each release's jars, and held by vectors made with those jars. What was compared:

================================ =================================================================================================
releases                         what is alike
================================ =================================================================================================
4.0.0 … 4.3.1                    classic: all four; consumer: range, and uniform where subscriptions differ
4.0.1 … 4.3.1                    consumer: uniform where subscriptions are the same (KAFKA-18688 changed it)
4.2.0 … 4.3.1                    share: simple
================================ =================================================================================================

The brokers of 3.x had the consumer protocol as a preview, with other assignors, and those of 4.0 and 4.1 share groups likewise:
their answers are not offered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.core.errors import InvalidQuestion

if TYPE_CHECKING:
    from service.core.assignors import Assignor

RELEASES: Final = ("4.0.0", "4.0.1", "4.0.2", "4.1.0", "4.1.1", "4.1.2", "4.2.0", "4.2.1", "4.3.0", "4.3.1")
"""Oldest first."""


def known_to(assignor: Assignor) -> tuple[str, ...]:
    """The releases whose answers ``assignor`` or one of its earlier forms gives, oldest first."""
    oldest = min(RELEASES.index(form.since) for form in (assignor, *assignor.earlier))
    return RELEASES[oldest:]


def at_release(assignor: Assignor, kafka_version: str) -> Assignor:
    """The form of ``assignor`` that answers as this release does; raises InvalidQuestion, which lists the known ones."""
    known = known_to(assignor)
    if kafka_version not in known:
        detail = f"{assignor.name} does not answer for Kafka {kafka_version}; known are {', '.join(known)}"
        raise InvalidQuestion(detail, "kafka_version")
    forms = [one for one in (assignor, *assignor.earlier) if RELEASES.index(one.since) <= RELEASES.index(kafka_version)]
    return max(forms, key=lambda form: RELEASES.index(form.since))
