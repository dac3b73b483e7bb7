"""What cannot be: why the directories of a broker cannot have its replicas, and what would mend it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

import numpy as np

from service.core.clock import check_time
from service.core.errors import Clash, Infeasible, NoPlan, NotFound
from service.core.printable import first_few
from service.planner.reassignments.feasibility.feasible import verdict
from service.planner.reassignments.feasibility.infeasibility import least
from service.planner.reassignments.feasibility.packing import IMPOSSIBLE, PACKED, Effort
from service.planner.reassignments.model import NO_LIMIT, Brokers, Goal, Placements, bytes_on

NAMED: Final = 10
"""Directories that one sentence names at most."""

_RULES: Final = ("draining", "cordoned", "capacity_bytes")
_GOAL: Final = Goal(racks="none", balance="bytes")


def check_feasible(brokers: Brokers, placements: Placements, names: tuple[int, list[str]]) -> None:
    """Raise NoPlan if the directories cannot have the replicas, or no way was found.

    brokers : the directories of one broker; names : its id, and their paths
    """
    effort = Effort()

    def found(some: Brokers) -> int:
        check_time()
        return verdict(some, placements, _GOAL, effort)

    result = found(brokers)
    if result == PACKED:
        return
    rules = [rule for rule in _RULES if _given(brokers, rule)]
    clash = [rule for rule in rules if found(_without(brokers, rule)) == PACKED] or rules
    broker_id, _ = names
    proven = result == IMPOSSIBLE
    demands = [Clash(rule, _demand(brokers, placements, names[1], rule)) for rule in clash]
    refusal = (
        f"The log directories of broker {broker_id} cannot hold all its replicas"
        if proven
        else f"No place was found for all replicas in the log directories of broker {broker_id}, though there may be one"
    )
    detail = f"{refusal}: {' '.join(each.detail for each in demands)}"
    remedies = [text for rule in clash for text in _remedy(brokers, names[1], rule, found)]
    raise (Infeasible if proven else NotFound)(detail, tuple(demands), tuple(remedies))


@contextmanager
def no_order(broker_id: int, *, rests: bool) -> Iterator[None]:
    """Word the errors of batches for the directories of this broker. rests : keep the replicas all rules where they are?"""
    try:
        yield
    except NoPlan as error:
        if any(each.rule.startswith("max_") for each in error.clash):  # a limit of copies, whose words fit any holders
            raise type(error)(f"Broker {broker_id}: {error}", error.clash, error.remedies) from None
        detail = (
            f"The log directories of broker {broker_id} are too full: no order of moves was found that keeps their "
            "capacity_bytes: a replica is on both while it moves."
        )
        remedies = ("Set objective = fewest-moves, which moves nothing on this broker.",) if rests else ()
        raise NotFound(detail, (Clash("capacity_bytes", detail),), remedies) from None


def _given(brokers: Brokers, rule: str) -> bool:
    if rule == "capacity_bytes":
        return bool((brokers.capacity_bytes != NO_LIMIT)[brokers.usable].any())
    return bool((brokers.draining if rule == "draining" else brokers.cordoned).any())


def _without(brokers: Brokers, rule: str) -> Brokers:
    nothing = np.zeros(len(brokers), np.bool_)
    if rule == "capacity_bytes":
        return replace(brokers, capacity_bytes=np.full(len(brokers), NO_LIMIT, np.int64))
    return replace(brokers, draining=nothing) if rule == "draining" else replace(brokers, cordoned=nothing)


def _demand(brokers: Brokers, placements: Placements, paths: list[str], rule: str) -> str:
    """What the rule demands, in a sentence."""
    loads = bytes_on(placements.replicas, placements.bytes_of_each(), len(brokers))
    if rule == "draining":
        return f"{_listed(paths, np.flatnonzero(brokers.draining))} draining, with {int(loads[brokers.draining].sum()):,} bytes."
    if rule == "cordoned":
        return f"{_listed(paths, np.flatnonzero(brokers.cordoned))} cordoned."
    limited = brokers.usable & (brokers.capacity_bytes != NO_LIMIT)
    room, used = sum(brokers.capacity_bytes[limited].tolist()), sum(loads[limited].tolist())
    where = "the other directories" if brokers.draining.any() else "the directories"
    return f"capacity_bytes and disk_threshold allow {room:,} bytes on {where}, which have {used:,} now."


def _listed(paths: list[str], dirs: np.ndarray) -> str:  # type: ignore[type-arg]
    return f"{first_few([paths[i] for i in dirs.tolist()], NAMED)} {'is' if len(dirs) == 1 else 'are'}"


def _remedy(brokers: Brokers, paths: list[str], rule: str, found: Callable[[Brokers], int]) -> Iterator[str]:
    """What would mend it alone, if anything does."""
    if found(_without(brokers, rule)) != PACKED:
        return
    if rule == "draining":
        yield f"Keep {', '.join(paths[i] for i in np.flatnonzero(brokers.draining)[:NAMED].tolist())}."
    elif rule == "cordoned":
        yield "Let the cordoned directories receive replicas."
    else:
        limits = brokers.capacity_bytes

        def mends(percent: int) -> bool:
            limited = limits != NO_LIMIT
            more = np.where(limited, limits + np.where(limited, limits, 0) * percent // 100, NO_LIMIT)
            return found(replace(brokers, capacity_bytes=more)) == PACKED

        percent = least(5_000, mends)
        if percent:
            yield f"Add room for {percent}% more bytes on each directory."
