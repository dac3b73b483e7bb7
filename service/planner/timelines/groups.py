"""The group as an assignor sees it: its members at one time, with what they own of the topics of one view."""

from typing import Final

import numpy as np

from service.core.model import NONE, Group, Int32s, Int64s, Ragged, distinct
from service.core.ragged import grouped
from service.planner.timelines.clock import Clock
from service.planner.timelines.members import Members
from service.planner.timelines.model import Timeline
from service.planner.timelines.topics import Topology, View

REBALANCE_CELLS: Final = 10_000
"""The cells (see ``Clock``) that a rebalance spends on the smallest group."""

MEMBER_CELLS: Final = 16
"""The cells (see ``Clock``) that a rebalance spends on a member: as many as on this many partitions."""


class Groups:
    """Groups of a timeline's members."""

    def __init__(self, timeline: Timeline, clock: Clock, members: Members, topology: Topology) -> None:
        self.clock, self.members, self.topology = clock, members, topology
        self._rack_ids, self._first, self._cost = timeline.group.rack_ids, timeline.world.first, timeline.cost()
        self._same: tuple[View | None, int, Ragged] = (None, NONE, Ragged(np.zeros(1, np.int32), np.empty(0, np.int32)))

    def claiming(self, numbers: Int32s, view: View, owner: Int32s, mentioned: Int32s | None = None) -> Group:
        """The group of these members.

        owner : int32[world's partitions], the number of the member that claims each, or NONE
        mentioned : likewise; its partitions are in the group even if they do not exist and are not claimed
        """
        slots = np.full(len(self.members.all) + 1, NONE, np.int32)
        slots[numbers] = np.arange(len(numbers), dtype=np.int32)
        labels = slots[owner]
        if view.is_whole:
            return self.owning(numbers, view, grouped(labels, len(numbers)))
        named = labels != NONE if mentioned is None else (labels != NONE) | (mentioned != NONE)
        unknown = np.flatnonzero(named & (view.from_world == NONE))
        topics = self.topology.topic_of[unknown]
        pairs = np.stack([view.topic_index[topics], unknown - self._first[topics]], axis=1).astype(np.int32)
        order = np.lexsort((pairs[:, 1], pairs[:, 0]))
        owned = grouped(np.concatenate([labels[view.to_world], labels[unknown[order]]]), len(numbers))
        return self.owning(numbers, view, owned, pairs[order])

    def in_world(self, group: Group, view: View) -> Int32s:
        """int32[partitions of the group], existing or not: the world's index of each."""
        if not len(group.unknown_partitions):
            return view.to_world
        topics, ids = group.unknown_partitions.T
        return np.concatenate([view.to_world, self._first[np.argsort(view.topic_index)[topics]] + ids])

    def owning(self, numbers: Int32s, view: View, owned: Ragged, unknown_partitions: Int32s | None = None) -> Group:
        """The group of these members with what they own.

        owned : Ragged member → partitions of the view; unknown_partitions : as ``core.model.Group`` has them; None for none
        """
        self.clock.spend(
            self._cost * (REBALANCE_CELLS + MEMBER_CELLS * len(numbers) + view.topics.partitions_count + len(view.missing))
        )
        columns, order = self.members.columns, numbers.tolist()
        return Group(
            topics=view.topics,
            member_ids=tuple(map(self.members.ids.__getitem__, order)),
            instance_ids=tuple(map(self.members.instance_ids.__getitem__, order)),
            rack_ids=self._rack_ids,
            racks=self._racks(order),
            subscriptions=self._subscriptions(columns.joined[numbers], view),
            generations=columns.generation[numbers].astype(np.int32),
            owned=owned,
            unknown_topic_names=view.missing,
            unknown_partitions=np.empty((0, 2), np.int32) if unknown_partitions is None else unknown_partitions,
            hash_codes=columns.hash_code[numbers].astype(np.int32),
        )

    def _racks(self, order: list[int]) -> Int32s:
        """int32[...], the rack of each of these members, or NONE."""
        if not self._rack_ids:
            return np.full(len(order), NONE, np.int32)
        index = {rack: i for i, rack in enumerate(self._rack_ids)}
        return np.array([index.get(self.members.all[number].rack_id or "", NONE) for number in order], np.int32)

    def _subscriptions(self, codes: Int64s, view: View) -> Ragged:
        """Ragged member → topics of a ``Group``. codes : int64[...], the subscription of each"""
        kinds: list[int] = distinct(codes).tolist()
        if len(kinds) != 1:
            rows = {code: self._topics(code, view) for code in kinds}
            return Ragged.of_rows([rows[code] for code in codes.tolist()])
        (code,) = kinds
        if self._same[0] is not view or self._same[1] != code or len(self._same[2]) < len(codes):
            row = self._topics(code, view)
            self._same = (view, code, Ragged.of_lengths(np.full(len(codes), len(row)), np.tile(row, len(codes))))
        return self._same[2].first_rows(len(codes))

    def _topics(self, code: int, view: View) -> Int32s:
        """int32[...], the topics of a ``Group`` that a subscription names."""
        return view.topic_index[list(self.members.subscriptions[code])]
