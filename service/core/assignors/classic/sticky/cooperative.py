"""Kafka's CooperativeStickyAssignor: sticky, but nothing is given to a member before its owner has revoked it (KIP-429).

*Algorithm*: assign as StickyAssignor does. Then take away from its new member each partition that changes hands. It is in
no member's assignment: its owner revokes it and joins again, and the *follow-up rebalance* hands it out.

A partition changes hands if it is newly given to a member and

* when all subscribe to the same topics: another member owned it and does not keep it, or it was contested;
* when subscriptions differ: the new member did not claim it, and some member that did claim it, in whatever generation, has it no
  longer.

Source: org.apache.kafka.clients.consumer.CooperativeStickyAssignor.
"""

from typing import Any

import numpy as np

from service.core.assignors.classic.sticky.claims import Claims
from service.core.assignors.classic.sticky.constrained import Constrained
from service.core.assignors.classic.sticky.explanation import claimants, explained, placed
from service.core.assignors.classic.sticky.general import General
from service.core.assignors.classic.sticky.rules import PRESENT, Rules
from service.core.assignors.classic.sticky.sticky import rows_of, solve
from service.core.model import NONE, Assignment, Bools, Group, Int32s, Ragged
from service.core.ragged import grouped


def assign(group: Group, rules: Rules = PRESENT) -> Assignment:
    """As sticky assigns, with the partitions that change hands withheld.

    Raises KafkaAssignorFails where Kafka throws, or moves partitions for ever.
    """
    claims, phases = solve(group, rules)
    here, later = parted(phases.new_owners, changing_hands(group, claims, phases, rules))
    return Assignment(rows_of(here, phases.duplicates, len(group)), withheld=grouped(later, len(group)))


def withholding(group: Group, rows: Ragged) -> Assignment:
    """An assignment without what another member than the new one claims, which is withheld until that one has revoked it.

    rows : Ragged member → partitions, each assigned once
    """
    new_owners = np.full(group.total_partitions, NONE, np.int32)
    new_owners[rows.values] = rows.row_of_each_value()
    changing = _losing(group.owned, new_owners, np.full_like(new_owners, NONE))
    here, later = parted(new_owners, changing)
    return Assignment(grouped(here, len(group)), withheld=grouped(later, len(group)))


def explain(group: Group, assignment: Assignment, limit: int, rules: Rules = PRESENT) -> dict[str, Any]:
    """As for sticky, and what is withheld from whom until who has revoked it."""
    claims, phases = solve(group, rules)
    changing = changing_hands(group, claims, phases, rules)
    withheld = placed(group, claims, changing, phases.new_owners, limit)
    for one, members in zip(withheld, claimants(group, np.flatnonzero(changing)[:limit].tolist(), limit), strict=True):
        one["claimed_by"] = members
    return {
        **explained(group, claims, phases, assignment, limit),
        "follow_up_rebalance": bool(changing.any()),
        "withheld_partitions": int(changing.sum()),
        "withheld": withheld,
    }


def changing_hands(group: Group, claims: Claims, phases: Constrained | General, rules: Rules) -> Bools:
    """bool[partitions], which partitions their new members have to wait for."""
    if isinstance(phases, Constrained):
        return _changing(phases, claims, returned=rules.returned_change_hands)
    new_owners = phases.new_owners
    duplicates = phases.duplicates if len(phases.duplicates) else np.full_like(new_owners, NONE)
    return _losing(group.owned, new_owners, duplicates)


def _changing(phases: Constrained, claims: Claims, *, returned: bool) -> Bools:
    """The partitions that were given, and were contested or had an owner who does not keep them.

    returned : also those that their owner gave up and got back?
    """
    free, owners = phases.kept == NONE, claims.owners
    lost = free & (owners != NONE)
    if not returned:
        lost &= owners != phases.new_owners
    changing: Bools = (lost | claims.contested) & (phases.new_owners != NONE)
    return changing if len(phases.duplicates) else changing & free


def parted(new_owners: Int32s, changing: Bools) -> tuple[Int32s, Int32s]:
    """The new owners of the partitions that do not change hands, and of those that do: int32[partitions] each, else NONE.

    The latter is empty if none does.
    """
    here = np.where(changing, np.int32(NONE), new_owners)
    return here, np.where(changing, new_owners, np.int32(NONE)) if changing.any() else here[:0]


def _losing(owned: Ragged, new_owners: Int32s, duplicates: Int32s) -> Bools:
    """The partitions that a claimant loses to a member that does not claim them (computePartitionsTransferringOwnership)."""
    claimants, claimed = owned.row_of_each_value(), owned.values
    holds = new_owners[claimed] == claimants
    waiting: Bools = new_owners != NONE
    lost = np.zeros(len(waiting), np.bool_)
    lost[claimed[~holds & (duplicates[claimed] != claimants)]] = True
    lost[claimed[holds]] = False
    waiting &= lost
    return waiting
