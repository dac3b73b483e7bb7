"""Which new broker replaces which broker that is gone, as far as there is but one answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from service.core.clock import check_time
from service.core.model import Bools, Int32s
from service.core.ragged import taken, transposed
from service.planner.reassignments.model import Brokers, Placements, broker_names


@dataclass(frozen=True)
class Replacements:
    """Who may replace whom.

    gone, new : int32[...]   brokers that only placements mention, and brokers without replicas that receive some
    may : bool[gone, new]
    """

    gone: Int32s
    new: Int32s
    may: Bools

    @classmethod
    def of(cls, brokers: Brokers, placements: Placements, racks_rule: str) -> Replacements:
        """A new broker may replace one that is gone unless its rack has another replica of a partition of that one.

        racks_rule : as in Goal; with "none", and without racks, any may
        """
        rows = placements.replicas
        holds = np.bincount(rows.values, minlength=len(brokers)) > 0
        gone = np.flatnonzero(holds & ~brokers.listed).astype(np.int32)
        replaces = np.isin(np.arange(len(brokers)), brokers.replaced_by)
        new = np.flatnonzero(~holds & brokers.receiving & ~replaces).astype(np.int32)
        may = np.ones((len(gone), len(new)), np.bool_)
        if racks_rule != "none" and len(brokers.cluster.rack_ids):
            racks, partitions_of = brokers.racks(), transposed(rows, len(brokers))
            taken_racks = np.zeros(racks.max() + 1, np.bool_)
            for row, broker in enumerate(gone.tolist()):
                check_time()
                others = taken(rows, partitions_of.row(broker)).values
                taken_racks[:] = False
                taken_racks[racks[others[brokers.listed[others]]]] = True
                may[row] = ~taken_racks[racks[new]]
        return cls(gone, new, may)

    @cached_property
    def certain(self) -> Bools:
        """bool[gone, new], the pairs of which neither may have another partner."""
        certain: Bools = self.may & (self.may.sum(axis=1) == 1)[:, None] & (self.may.sum(axis=0) == 1)
        return certain

    def replaced_by(self, brokers: Brokers) -> Int32s:
        """int32[brokers], as in ``Brokers``, with the pairs that are certain."""
        replaced_by = brokers.replaced_by.copy()
        rows, columns = np.nonzero(self.certain)
        replaced_by[self.gone[rows]] = self.new[columns]
        return replaced_by

    def rows(self, brokers: Brokers) -> list[dict[str, int]]:
        """The pairs that are certain, the new broker's ``broker_id`` and the one that it ``replaces``."""
        ids = brokers.cluster.broker_ids
        pairs = np.argwhere(self.certain).tolist()
        return [{"broker_id": int(ids[self.new[column]]), "replaces": int(ids[self.gone[row]])} for row, column in pairs]

    def doubts(self, brokers: Brokers) -> Iterator[str]:
        """Sentences about the brokers that are gone and have no certain replacement."""
        ids = brokers.cluster.broker_ids
        for row in np.flatnonzero(~self.certain.any(axis=1))[:3].tolist():
            able = self.new[self.may[row]]
            if not len(self.new):
                why = "there is no new broker"
            elif not len(able):
                why = "each new broker is on a rack that has another replica of one of its partitions"
            elif len(able) == 1:
                why = f"{broker_names(ids[able].tolist())} could also replace another one"
            else:
                why = f"{broker_names(ids[able].tolist())} could each do so"
            yield f"No broker replaces broker {ids[self.gone[row]]}: {why}."
