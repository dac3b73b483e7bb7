"""The description of an assignor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from service.core.errors import InvalidQuestion
from service.core.kafka_versions import RELEASES
from service.core.model import Assignment, Group
from service.core.registry import Strategy


@dataclass(frozen=True)
class Assignor(Strategy):
    """One way to assign a group.

    explain : how ``run`` arrived at its answer, as a JSON object: ``(group, its answer, most entries of a list)``; None if
        there is nothing to explain
    warnings : sentences that a reader of the answer to a group must know; None if there never are any
    since : the oldest Kafka release (see ``kafka_versions``) that gives these answers
    earlier : the forms in which older releases had it; see ``at_release``
    """

    explain: Callable[[Group, Assignment, int], dict[str, Any]] | None = None
    warnings: Callable[[Group], list[str]] | None = None
    since: str = "4.0.0"
    earlier: tuple[Assignor, ...] = ()

    @property
    def kafka_versions(self) -> tuple[str, ...]:
        """The releases that this assignor or one of its earlier forms reproduces, oldest first."""
        oldest = min(RELEASES.index(form.since) for form in (self, *self.earlier))
        return RELEASES[oldest:]

    def at_release(self, kafka_version: str) -> Assignor:
        """The form of this assignor in a release; raises InvalidQuestion, which lists the releases that it supports."""
        known = self.kafka_versions
        if kafka_version not in known:
            detail = f"The assignor {self.name} does not support Kafka {kafka_version}; supported are {', '.join(known)}."
            raise InvalidQuestion(detail, "kafka_version")
        forms = [one for one in (self, *self.earlier) if RELEASES.index(one.since) <= RELEASES.index(kafka_version)]
        return max(forms, key=lambda form: RELEASES.index(form.since))
