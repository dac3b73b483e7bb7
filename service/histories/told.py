"""What follows from a rebalance: what it moved, and for how long partitions had no reader.

The time without a reader is told by bounds, as the coordinator sees it. It begins when the first partition loses its reader and
ends when the coordinator gives out the assignment, or, of a consumer group, when the last member has its own. When a member reads
its first record, no coordinator knows.

============ ============================================== ====================================================================
protocol     at least                                        at most
============ ============================================== ====================================================================
eager        from when all have rejoined: each has revoked   from when the coordinator asked them to rejoin
             all by then
cooperative  0: what is not revoked is read on; in the        0; in the second step from the assignment of the first
             second step from when it began
consumer     0: members hand over one by one                 from the new epoch until the last member has its assignment
unknown      the least of eager and cooperative              the most of them
============ ============================================== ====================================================================

The time of a rebalance that is interrupted counts in the one that ends.

The partitions of a member that left have no reader from then on. Those of one whose session expired had none for up to its
session time-out before, and those of one that did not poll for up to max.poll.interval.ms. For how long one that leaves without
telling its coordinator why has not polled, is not told: librdkafka may leave no sooner than it is polled again. Its own log
tells, which says that it closed, or by how much its poll interval was exceeded.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from service.histories.causes import GOES, Why, client_reason
from service.histories.checks import AssignorCheck
from service.histories.events import Cause, MemberNames, Partition, PastRebalance, StoredMember


class PastMoves(NamedTuple):
    """Partitions of a rebalance.

    moved : have another reader than the last that is known; of : how many are assigned
    since : the number of the rebalance with which it is compared, the last before it whose assignment is known
    """

    moved: int
    of: int
    since: int


def moves(rebalances: list[PastRebalance], names: MemberNames) -> Iterator[PastMoves | None]:
    """Those of each rebalance; None where its assignment, or every earlier one, is not known.

    A member that has started again is the same reader; a partition that nobody reads in between has moved when it is read again.
    """
    readers: dict[Partition, str] = {}
    since: PastRebalance | None = None
    for rebalance in rebalances:
        if since is not None and since.life != rebalance.life:
            readers, since = {}, None
        if rebalance.assigned is None:
            yield None
            continue
        if since is not None and since.by_id != rebalance.by_id:
            readers, since = {}, None  # an id is not compared with a name
        own = {partition: names(member) for member, partitions in rebalance.assigned.items() for partition in partitions}
        moved = sum(readers.get(partition, name) != name for partition, name in own.items())
        yield None if since is None else PastMoves(moved, len(own), since.number)
        readers |= own
        since = rebalance


COOPERATIVE: Final = ("cooperative-sticky", "streams", "stream")
EAGER: Final = ("range", "roundrobin", "sticky")
_UNHEARD: Final = {
    Why.SESSION: ("session_ms",),
    Why.POLL: ("rebalance_ms",),
    Why.GONE: ("session_ms", "rebalance_ms"),
    Why.TIMEOUT: ("session_ms", "rebalance_ms"),
}
"""Cause → the time-outs of a member, for which it may not have read before the coordinator knew that it had gone."""


class WithoutReader(NamedTuple):
    """ms; None: no source tells it."""

    least_ms: int | None
    most_ms: int | None

    def sound(self) -> "WithoutReader":
        """These bounds; what contradicts itself, because times do, is not told."""
        least, most = (None if each is None or each < 0 else each for each in self)
        return WithoutReader(least, None if most is not None and most < (least or 0) else most)


def standstill(
    rebalance: PastRebalance,
    previous: PastRebalance | None,
    members: dict[str, StoredMember],
    *,
    cooperative: bool | None,
    interrupted: Sequence[PastRebalance],
    open_ms: int | None,
) -> WithoutReader:
    """That of one rebalance.

    previous : the one with the number before; members : what records tell of them; cooperative : if it is known
    interrupted : those before it that did not end; open_ms : when the first of them took partitions, None: not told
    """
    if rebalance.number == 1 or (rebalance.before is not None and rebalance.before.complete and not rebalance.before.members):
        return WithoutReader(0, 0)  # nobody had a partition to lose
    joined, ended = rebalance.joined_ms, rebalance.ended_ms
    if ended is None or (rebalance.after is not None and rebalance.after.count == 0):
        return WithoutReader(0 if rebalance.protocol == "consumer" and ended is None else None, None)
    began = open_ms if interrupted else rebalance.began_ms
    causes = [cause for each in (*interrupted, rebalance) for cause in each.causes]
    owned = {} if previous is None else previous.assigned or {}
    lost_any = any(owned.get(member) for cause in rebalance.causes if cause.kind in GOES for member in cause.members)
    since = rebalance.began_ms if lost_any else None  # else perhaps none that has gone had a partition
    lost = 0 if since is None else max(0, ended - since)
    whole = None if began is None else ended - began
    if rebalance.protocol == "consumer":
        least = 0 if joined is None or since is None else max(0, joined - since)
        return WithoutReader(least, _later(None if whole is None else max(whole, least), causes, members))
    told = [cause.kind for cause in causes if cause.kind != Why.UNKNOWN]
    second, gone = Why.REVOCATION in told, any(kind in GOES for kind in told)
    eager = WithoutReader(max(lost, 0 if joined is None else ended - joined), whole)
    revoked = previous.ended_ms if previous is not None and (second or not told) and not interrupted else began
    most = None if revoked is None else ended - revoked
    incremental = WithoutReader(
        max(lost, whole if second and whole is not None and not interrupted else 0),
        0 if told and not (second or gone or interrupted) else most,
    )
    either = (eager, incremental) if cooperative is None else (incremental if cooperative else eager,)
    mosts = [each.most_ms for each in either]
    longest = None if None in mosts else max(most for most in mosts if most is not None)
    return WithoutReader(min(each.least_ms or 0 for each in either), _later(longest, causes, members))


def _later(most: int | None, causes: Iterable[Cause], members: dict[str, StoredMember]) -> int | None:
    """The most, with the time for which members that have gone had not read before the coordinator knew it."""
    for cause in causes:
        if cause.unread_ms is not None:
            most = None if most is None else most + cause.unread_ms
        elif cause.kind in (Why.LEAVE, Why.POLL) and client_reason(cause.said) is None:
            return None
        elif cause.kind in _UNHEARD:
            known = [members[member] for member in cause.members if member in members]
            times = [getattr(each, name) for each in known for name in _UNHEARD[cause.kind]]
            if not times or most is None or None in times:
                return None
            most += max(times)
    return most


@dataclass(frozen=True)
class Told:
    """A rebalance, and what follows from it.

    check : whether its assignor gives what it got; leads : the one whose second, cooperative step this is
    """

    rebalance: PastRebalance
    standstill: WithoutReader
    moves: PastMoves | None
    check: AssignorCheck | None
    leads: PastRebalance | None


def told_of(
    rebalances: list[PastRebalance],
    members: dict[str, StoredMember],
    names: MemberNames,
    checks: dict[int, AssignorCheck | None],
) -> list[Told]:
    """What follows from each rebalance. members : what records tell of them; checks : by ``id``"""
    moved = list(moves(rebalances, names))
    found, interrupted, open_ms = list[Told](), list[PastRebalance](), None
    seconds = [any(cause.kind == Why.REVOCATION for cause in each.causes) for each in rebalances]
    for i, rebalance in enumerate(rebalances):
        before = rebalances[i - 1] if i else None
        previous = before if before and (before.life, before.number + 1) == (rebalance.life, rebalance.number) else None
        leads = (found[-1].leads or previous) if seconds[i] and previous is not None else None
        known = {**dict.fromkeys(COOPERATIVE, True), **dict.fromkeys(EAGER, False)}.get(rebalance.assignor or "")
        cooperative = True if any(seconds[i : i + 2]) else known
        if _is_interrupted(rebalance, rebalances[i + 1 : i + 2]):
            began = previous.ended_ms if seconds[i] and previous is not None else rebalance.began_ms
            bounds, open_ms = WithoutReader(0, 0), open_ms if interrupted else began
            interrupted.append(rebalance)
        else:
            bounds = standstill(rebalance, previous, members, cooperative=cooperative, interrupted=interrupted, open_ms=open_ms)
            interrupted = []
        found.append(Told(rebalance, bounds.sound(), moved[i], checks.get(id(rebalance)), leads))
    return found


def _is_interrupted(rebalance: PastRebalance, following: list[PastRebalance]) -> bool:
    """Did the next rebalance begin before this one had an assignment?"""
    if not any(each.number == rebalance.number + 1 and each.began_ms for each in following):
        return False
    if rebalance.protocol == "consumer":
        return bool(rebalance.began_ms) and rebalance.joined_ms is None and any(each.joined_ms for each in following)
    return rebalance.ended_ms is None and rebalance.joined_ms is not None
