"""How a sticky assignment came about, as a JSON object: for a person who wants to know why a member has what it has."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from service.core.assignors.classic.sticky.claims import Claims
from service.core.assignors.classic.sticky.constrained import Constrained
from service.core.assignors.classic.sticky.general import General
from service.core.documents import Json
from service.core.model import NONE, Assignment, Bools, Group, Int32s
from service.core.printable import counted
from service.core.ragged import transposed


def explained(group: Group, claims: Claims, phases: Constrained | General, assignment: Assignment, limit: int) -> Json:
    """The algorithm, racks, claims, phases and members of a solution; every list has at most ``limit`` entries, and so have the
    lists of those that claim a partition all together.

    assignment : what the assignor made of it
    """
    constrained = isinstance(phases, Constrained)
    return {
        "algorithm": "constrained" if constrained else "general",
        "because": _algorithm(group, claims, constrained=constrained),
        "rack_aware": claims.rack_aware,
        "racks": _racks(group, claims),
        "claims": _claims(group, claims, limit),
        "phases": _constrained(group, claims, phases, limit)
        if isinstance(phases, Constrained)
        else _general(group, claims, phases, limit),
        "members": _members(group, claims, phases, assignment, limit),
    }


def placed(group: Group, claims: Claims, which: Bools, members: Int32s, limit: int) -> list[Json]:
    """The first of the partitions ``which``, each with the member that ``members`` has for it.

    which : bool[partitions]; members : int32[partitions]
    """
    return [
        {**name(group, claims, partition), "member_id": group.member_ids[members[partition]]}
        for partition in np.flatnonzero(which)[:limit].tolist()
    ]


def claimants(group: Group, partitions: list[int], limit: int) -> Iterator[list[str]]:
    """Of each partition the member_ids of those that say they own it; ``limit`` in all, since there may be thousands of each."""
    members_of = transposed(group.owned, group.total_partitions)
    for partition in partitions:
        members = np.unique(members_of.row(partition))[:limit]
        limit -= len(members)
        yield [group.member_ids[member] for member in members]


def name(group: Group, claims: Claims, partition: int) -> Json:
    """A partition's name."""
    return {"topic_name": group.topics.names[claims.topic_of[partition]], "partition_id": int(claims.partition_ids[partition])}


def _algorithm(group: Group, claims: Claims, *, constrained: bool) -> str:
    if claims.first_differing == NONE and not constrained:
        return "up to Kafka 2.6 there is no other (KAFKA-9987)"
    if constrained:
        return "all members subscribe to the same topics, so that what each gets in the end is known beforehand"
    return (
        f"member {group.member_ids[claims.first_differing]!r} subscribes to other topics than the members before it in the "
        "leader's map (names that do not exist count)"
    )


def _racks(group: Group, claims: Claims) -> str:
    if claims.rack_aware:
        return "matter: members are on racks of the replicas, and not every partition is on all of these"
    if not (group.racks != NONE).any():
        return "do not matter: no member has a rack"
    if group.topics.racks is None:
        return "do not matter: no replica has a rack"
    if not np.isin(group.racks[group.racks != NONE], group.topics.racks.values).any():
        return "do not matter: no member is on the rack of any replica"
    return "do not matter: every partition has a replica on each of the racks that occur"


def _claims(group: Group, claims: Claims, limit: int) -> Json:
    newest = int(group.generations.max(initial=NONE))
    claimed = group.owned.lengths()
    stale = np.flatnonzero((group.generations < newest) & (claimed > 0))
    contested = np.flatnonzero(claims.contested)
    listed = contested[:limit].tolist()
    return {
        "partitions_claimed": int(claimed.sum()),
        "partitions_owned": int((claims.owners != NONE).sum()),
        "newest_generation": newest,
        "stale_members": len(stale),
        "stale": [
            {
                "member_id": group.member_ids[member],
                "generation_id": int(group.generations[member]),
                "partitions_claimed": int(claimed[member]),
            }
            for member in stale[:limit].tolist()
        ],
        "contested_partitions": len(contested),
        "contested": [
            {**name(group, claims, partition), "claimed_by": members}
            for partition, members in zip(listed, claimants(group, listed, limit), strict=True)
        ],
    }


def _constrained(group: Group, claims: Claims, phases: Constrained, limit: int) -> list[Json]:
    minimum, more = phases.minimum, phases.members_with_more
    phase, kept = partial(_phase, group, claims, limit), phases.kept != NONE
    steps = [
        phase(
            "keep",
            f"members keep what they own: up to {counted(minimum, 'partition')} each"
            + (f", and {more} of them one more: the first to own it, in the order of the leader's map" if more else ""),
            kept,
            phases.kept,
        ),
        phase(
            "give_up",
            "owned partitions above that number, the last "
            + ("by (partition id, topic name)" if len(claims.listed) == 0 else "in the order of the member's list")
            + (", or without a replica on the owner's rack" if claims.rack_aware else ""),
            (claims.owners != NONE) & ~kept,
            claims.owners,
        ),
    ]
    if claims.rack_aware:
        does = "remaining partitions, those with the fewest members on their racks first, go to members on one of their racks"
        steps.append(phase("match", does, phases.matched != NONE, phases.matched))
    does = f"the rest goes in turn, by member_id, to members with fewer than {minimum}, then one each to those with {minimum}"
    return [*steps, phase("deal", does, phases.dealt != NONE, phases.dealt)]


def _general(group: Group, claims: Claims, phases: General, limit: int) -> list[Json]:
    phase, kept = partial(_phase, group, claims, limit), phases.kept != NONE
    filled = (phases.filled != NONE) & (phases.filled != phases.kept)
    return [
        phase("keep", "members keep what they own of the topics they subscribe to", kept, phases.kept),
        phase(
            "give_up",
            "owned partitions of topics to which the owner no longer subscribes"
            + (", or without a replica on its rack" if claims.rack_aware else ""),
            (claims.owners != NONE) & ~kept,
            claims.owners,
        ),
        phase(
            "fill",
            "topics with the fewest subscribers first, each remaining partition goes to the subscriber with the fewest",
            filled,
            phases.filled,
        ),
        {
            **phase(
                "reassign",
                "a partition moves while some subscriber has at least two fewer than its owner"
                + ("; undone, since it did not make the members more equal" if phases.restored else ""),
                phases.new_owners != phases.filled,
                phases.new_owners,
            ),
            "passes_over_free_partitions": phases.passes[0],
            "moves_of_free_partitions": phases.moves[0],
            "passes_over_all_partitions": phases.passes[1],
            "moves_of_all_partitions": phases.moves[1],
        },
    ]


def _phase(group: Group, claims: Claims, limit: int, phase: str, does: str, which: Bools, members: Int32s) -> Json:
    """which, members : as of ``placed``"""
    first = placed(group, claims, which, members, limit)
    return {"phase": phase, "does": does, "partitions": int(which.sum()), "first": first}


def _members(group: Group, claims: Claims, phases: Constrained | General, assignment: Assignment, limit: int) -> list[Json]:
    """The first members of the leader's map: what each owned, kept and gets, and why."""

    def count(members: Int32s) -> Int32s:
        return np.bincount(members[members != NONE], minlength=len(group)).astype(np.int32)

    owned, kept, meant = count(claims.owners), count(phases.kept), count(phases.new_owners) + count(phases.duplicates)
    assigned = assignment.rows.lengths()
    entries = []
    for member in claims.order[:limit].tolist():
        if isinstance(phases, Constrained):
            why = _why(int(kept[member]), int(meant[member]), phases)
        else:
            topics = group.subscriptions.row(member)
            topics = topics[topics < len(group.topics)]
            partitions = counted(int(group.topics.partitions_counts()[topics].sum()), "partition")
            why = f"its topics have {partitions} in all"
        entries.append(
            {
                "member_id": group.member_ids[member],
                "owned": int(owned[member]),
                "kept": int(kept[member]),
                "partitions": int(assigned[member]),
                "because": why,
            }
        )
    return entries


def _why(kept: int, meant: int, phases: Constrained) -> str:
    minimum, more = phases.minimum, phases.members_with_more
    if not more:
        return "all members get the same number"
    if meant <= minimum:
        return f"{more} get one more, and others came first"
    if kept > minimum:
        return f"one more, because it owned more than {minimum} and there were places for one more when its turn came"
    return "one more, because it was first in line for the remaining partitions"
