"""What a plan evens out: ``balance`` of a question, one resource, several by priority, or several with weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from service.core.errors import InvalidQuestion
from service.core.model import LARGEST, SMALLEST
from service.planner.reassignments import BALANCES, RESOURCES
from service.planner.reassignments.resources.loads import names_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.planner.reassignments.model import Brokers, Goal, Placements, Priorities

_READ: Final = ("bytes_out_per_second", "cpu")
_WRITTEN: Final = ("bytes_per_second", "leader_bytes_per_second", *_READ)
"""Resources that need to know what consumers read, and what producers write."""


def read_balance(value: Any) -> tuple[str, Priorities]:
    """``Goal.balance`` and ``Goal.resources`` of a name, a list of names, or a dict of weights. Raises InvalidQuestion."""
    names: list[Any] = [value] if isinstance(value, str) else list(value) if isinstance(value, list | dict) else []
    if not names:
        raise InvalidQuestion("Must be a resource, a list of resources, or an object of their weights.", "balance")
    for at, name in enumerate(names):
        place = ("balance",) if isinstance(value, str) else ("balance", name if isinstance(value, dict) else at)
        if name not in RESOURCES:
            raise InvalidQuestion(f"Must be one of: {', '.join(RESOURCES)}.", *place)
        if name in names[:at]:
            raise InvalidQuestion(f"Duplicate resource {name!r}.", *place)
        if isinstance(value, dict) and not _is_weight(value[name]):
            raise InvalidQuestion(f"Must be a number from {SMALLEST} to {LARGEST:g}.", *place)
    if len(names) == 1 and names[0] in BALANCES:
        return names[0], ()
    if isinstance(value, dict):
        return BALANCES[0], (tuple((name, float(weight)) for name, weight in value.items()),)
    return BALANCES[0], tuple(((name, 1.0),) for name in names)


def parse_balance(text: str) -> str | list[str] | dict[str, float]:
    """``balance`` as commands have it: ``bytes``, ``bytes,leaders`` by priority, or ``bytes=2,leaders=1`` with weights.

    Raises InvalidQuestion.
    """
    parts = [part.strip().partition("=") for part in text.split(",")]
    names = [name for name, _, _ in parts]
    if not any(equals for _, equals, _ in parts):
        return names[0] if len(names) == 1 else names
    if len(set(names)) < len(names):
        raise InvalidQuestion("Each resource has one weight.", "balance")
    try:
        return {name: float(weight) for name, _, weight in parts}
    except ValueError:
        raise InvalidQuestion(f"{text!r} is neither resources nor RESOURCE=WEIGHT, separated by commas.", "balance") from None


def balance_text(value: str | list[str] | dict[str, float]) -> str:
    """``balance`` as commands have it: the inverse of ``parse_balance``."""
    if isinstance(value, dict):
        return ",".join(f"{name}={weight:g}" for name, weight in value.items())
    return value if isinstance(value, str) else ",".join(value)


def faults_of_balance(goal: Goal, brokers: Brokers, placements: Placements, *, frontier: bool) -> Iterator[InvalidQuestion]:
    """What several resources cannot go with, and what they need to know."""
    if not goal.resources:
        return
    if goal.per_topic:
        yield InvalidQuestion("Not allowed together with other or several resources.", "per_topic")
    if frontier:
        yield InvalidQuestion("The frontier needs balance = replicas or bytes.", "balance")
    names = names_of(goal)
    needs = {
        "partition_bytes": (placements.sizes, ("bytes",)),
        "partition_bytes_per_second": (placements.rates, _WRITTEN),
        "partition_bytes_out_per_second": (placements.read_rates, _READ),
    }
    for field, (known, users) in needs.items():
        use = next((name for name in names if name in users), None)
        if known is None and use is not None:
            yield InvalidQuestion(f"The topics' {field} are required for balance = {use}.", "balance")
    if "cpu" in names and brokers.cpu_usage is not None:
        leads = placements.replicas.firsts()
        unknown = leads[brokers.listed[leads] & np.isnan(brokers.cpu_usage[leads])]
        if len(unknown):
            yield InvalidQuestion("Required, because another broker has it.", "brokers", int(unknown.min()), "cpu_usage")


def _is_weight(weight: Any) -> bool:
    return isinstance(weight, int | float) and not isinstance(weight, bool) and SMALLEST <= weight <= LARGEST
