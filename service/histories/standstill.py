"""How long partitions had no reader because of a rebalance: at least, and at most, as the coordinator sees it.

It begins when the first partition loses its reader, and ends when the coordinator gives out the assignment (or, of a consumer
group, when the last member has its own). When a member reads its first record, no coordinator knows.

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
telling its coordinator why has not polled, is not told: librdkafka may leave no sooner than it is polled again.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from service.histories.causes import Why, client_reason
from service.histories.course import Cause, PastRebalance
from service.histories.events import StoredMember

COOPERATIVE: Final = ("cooperative-sticky", "streams", "stream")
EAGER: Final = ("range", "roundrobin", "sticky")
_LOST: Final = (Why.LEAVE, Why.SESSION, Why.POLL, Why.TIMEOUT, Why.GONE)
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
    since = _lost_at(rebalance, previous)
    lost = 0 if since is None else max(0, ended - since)
    whole = None if began is None else ended - began
    if rebalance.protocol == "consumer":
        least = 0 if joined is None or since is None else max(0, joined - since)
        return WithoutReader(least, _later(None if whole is None else max(whole, least), causes, members))
    told = [cause.kind for cause in causes if cause.kind != Why.UNKNOWN]
    second, gone = Why.REVOCATION in told, any(kind in _LOST for kind in told)
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


def _lost_at(rebalance: PastRebalance, previous: PastRebalance | None) -> int | None:
    """Since when partitions of a member that has gone have no reader for sure; None: perhaps none of it had any."""
    owned = None if previous is None else previous.assigned
    gone = {member for cause in rebalance.causes if cause.kind in _LOST for member in cause.members}
    if owned is None or not any(owned.get(member) for member in gone):
        return None
    return rebalance.began_ms


def _later(most: int | None, causes: Iterable[Cause], members: dict[str, StoredMember]) -> int | None:
    """The most, with the time for which members that have gone had not read before the coordinator knew it."""
    for cause in causes:
        if cause.kind in (Why.LEAVE, Why.POLL) and client_reason(cause.said) is None:
            return None
        if cause.kind in _UNHEARD:
            known = [members[member] for member in cause.members if member in members]
            times = [getattr(each, name) for each in known for name in _UNHEARD[cause.kind]]
            if not times or most is None or None in times:
                return None
            most += max(times)
    return most
