"""Replicas that are hard to pack: what single moves do not fit into ``capacity_bytes`` is left to an integer program.

A small question is solved as a whole: the answer is a placement with the fewest copies, or the proof that there is none. Of a
larger one, the replicas of a broker that is too full and of brokers with room are packed anew, more and more of them until they
fit.

Each program is bounded by its size and by the nodes of its search, so that the same question has the same answer; the time limit
ends a program only together with the answer.

Source: HiGHS by ``scipy.optimize.milp``, branch and cut.
"""

from dataclasses import dataclass
from math import gcd
from typing import Any, Final, NamedTuple

import numpy as np

from service.core.budget import check_time, seconds_left
from service.core.model import NONE, Bools, Float64s, Int32s, Int64s
from service.planner.reassignments.model import NO_LIMIT, Brokers
from service.planner.reassignments.search.exchanges import COMES, EVERY_RACK, LIMITED, ONE_PER_RACK, ReplicaSets, link

PACKED, IMPOSSIBLE, UNKNOWN = 0, 1, 2
"""The sets keep all rules now; proven: none do; neither."""

MOST_CELLS: Final = 5_000
"""Partitions × brokers of a program at most."""

MOST_NODES: Final = 500
"""Nodes of a program's search at most."""

LARGEST: Final = 1e6
"""Bytes are scaled to at most this, so that the solver's tolerances mean little; what it finds is checked in integers."""

LATE: Final = 0.05
"""Seconds that a program goes on after the time is over, so that it surely is."""

_FIRST: Final = 4
"""Brokers whose replicas are packed anew at first."""


@dataclass
class Effort:
    """What is left for programs, in partitions × brokers × nodes: some ten seconds."""

    left: int = 200_000


@dataclass(frozen=True)
class Space:
    """What the sets have to fit into.

    sizes : int64[partitions of the state], bytes; loads, capacities : int64[brokers], bytes of each, and the most
    """

    sizes: Int64s
    loads: Int64s
    capacities: Int64s


def pack(s: ReplicaSets, brokers: Brokers, space: Space, effort: Effort) -> int:
    """Change the sets and ``space.loads`` so that all fit. PACKED, IMPOSSIBLE or UNKNOWN; then the sets are as good as lost."""
    usable = np.flatnonzero(brokers.usable).astype(np.int32)
    partitions = np.arange(len(s.offsets) - 1, dtype=np.int32)
    if len(partitions) == 0 or _too_many_bytes(s, space, usable):
        return IMPOSSIBLE
    if len(usable) * len(partitions) <= MOST_CELLS:
        return _repack(s, space, partitions, usable, effort)
    while len(over := usable[space.loads[usable] > space.capacities[usable]]):
        check_time()
        worst = int(over[np.argmax((space.loads - space.capacities)[over])])
        if not _relieve(s, space, worst, usable, effort):
            return UNKNOWN
    return PACKED


def _too_many_bytes(s: ReplicaSets, space: Space, usable: Int32s) -> bool:
    """Is there more than fits, however it is divided, or a partition for which too few brokers are large enough?"""
    factors = np.diff(s.offsets)
    mine = np.zeros(len(space.loads), np.int64)
    np.add.at(mine, s.members, space.sizes[s.row_of])
    room = np.sort((space.capacities - (space.loads - mine))[usable])
    if (room < 0).any():  # by what may not move
        return True
    large_enough = len(room) - np.searchsorted(room, space.sizes)
    total = sum((space.sizes * factors).tolist())  # in Python, for a capacity may be none
    return bool((large_enough < factors).any()) or total > sum(room.tolist())


def _relieve(s: ReplicaSets, space: Space, worst: int, usable: Int32s, effort: Effort) -> bool:
    """Pack the replicas of this broker, and of more and more others, until they fit."""
    others = usable[usable != worst]
    room = (space.capacities - space.loads)[others] / np.maximum(1, space.capacities[others])
    others = others[np.argsort(-room, kind="stable")]
    count = _FIRST
    while count <= 2 * len(others):
        check_time()
        some = np.sort(np.append(others[:count], worst)).astype(np.int32)
        inside = np.zeros(len(space.loads), np.bool_)
        inside[some] = True
        partitions = np.unique(s.row_of[inside[s.members]])
        if len(partitions) * len(some) > MOST_CELLS:  # those of the full broker, and the smallest of the others
            here = np.unique(s.row_of[s.members == worst])
            rest = np.setdiff1d(partitions, here)
            rest = rest[np.argsort(space.sizes[rest], kind="stable")]
            partitions = np.sort(np.concatenate([here, rest])[: MOST_CELLS // len(some)])
        if _repack(s, space, partitions.astype(np.int32), some, effort) == PACKED:
            return True
        if len(partitions) * len(some) > MOST_CELLS // 2:
            return False
        count *= 2
    return False


def _repack(s: ReplicaSets, space: Space, partitions: Int32s, brokers: Int32s, effort: Effort) -> int:
    """Choose the brokers anew for the replicas of these partitions on these brokers; all others stay."""
    cells = len(partitions) * len(brokers)
    nodes = min(MOST_NODES, effort.left // max(1, cells))
    if nodes < 1:
        return UNKNOWN
    inside = np.zeros(len(s.loads), np.bool_)
    inside[brokers] = True
    program = PackingProgram(s, space, partitions, brokers, inside)
    chosen, proven, used = program.solve(nodes)
    effort.left -= cells * (1 + used)
    if chosen is None:
        return IMPOSSIBLE if proven else UNKNOWN
    before = s.members.copy(), s.loads.copy(), space.loads.copy()
    program.apply(chosen)
    if (space.loads <= space.capacities)[brokers].all() and (s.loads <= s.most)[brokers].all():
        link(s)
        return PACKED
    s.members[:], s.loads[:], space.loads[:] = before
    return UNKNOWN


class Formulas(NamedTuple):
    """A program of variables that are 0 or 1.

    costs : float64[variables]; bounds : twice the same, the least and the most of each
    entries : the columns, rows and values of the constraints; low, high : float64[constraints], the least and the most of each
    """

    costs: Float64s
    bounds: tuple[Float64s, Float64s]
    entries: tuple[Int64s, Int64s, Float64s]
    low: Float64s
    high: Float64s


def solve(formulas: Formulas, nodes: int, **options: float) -> Any:
    """What HiGHS says of the program. nodes : that it searches at most; options : of ``milp``"""
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415 - takes half a second, and is seldom needed
    from scipy.sparse import csr_array  # noqa: PLC0415

    costs, bounds, (columns, rows, values), low, high = formulas
    matrix = csr_array((values, (rows, columns)), shape=(len(low), len(costs)))
    solved = milp(
        costs,
        constraints=LinearConstraint(matrix, low, high),
        bounds=Bounds(*bounds),
        integrality=np.ones(len(costs)),
        options={"node_limit": nodes, "time_limit": seconds_left() + LATE, **options},
    )
    check_time()  # a program that the time has ended has no say in the answer
    return solved


class PackingProgram:
    """Variables: whether a partition has a replica on a broker, partition by partition."""

    def __init__(self, s: ReplicaSets, space: Space, partitions: Int32s, brokers: Int32s, inside: Bools) -> None:
        self._s, self._rooms, self._partitions, self._brokers = s, space, partitions, brokers
        self._column = np.full(len(s.loads), NONE, np.int64)
        self._column[brokers] = np.arange(len(brokers))
        places = np.concatenate([np.arange(s.offsets[p], s.offsets[p + 1]) for p in partitions]).astype(np.int64)
        self._rows = np.repeat(np.arange(len(partitions)), np.diff(s.offsets)[partitions])
        here = inside[s.members[places]]
        self._places, self._moved = places, here
        self._outside = places[~here], self._rows[~here]
        self._permitted = _permitted(s, partitions)[:, brokers]
        self._numbers = np.bincount(self._rows[here], minlength=len(partitions))

    def solve(self, nodes: int) -> tuple[Bools | None, bool, int]:
        """bool[partitions, brokers], or None; whether it is proven that there is none; the nodes that were searched."""
        shape, solved = (len(self._partitions), len(self._brokers)), solve(self.formulas(), nodes)
        used = int(solved.mip_node_count or 0)
        if solved.x is None:
            return None, solved.status == 2, used
        return np.round(solved.x).astype(np.bool_).reshape(shape), False, used

    def formulas(self) -> Formulas:
        """What a placement costs, and what it keeps; the first constraints are those of partitions, then those of brokers."""
        shape = len(self._partitions), len(self._brokers)
        cost, least, most = np.ones(shape), np.zeros(shape), self._permitted.astype(np.float64)
        s = self._s
        for row, partition in enumerate(self._partitions.tolist()):  # a replica at home is not copied; a pinned one stays
            for i in range(s.home_offsets[partition], s.home_offsets[partition + 1]):
                column = self._column[s.homes[i]]
                if column != NONE:
                    cost[row, column] = 0
                    least[row, column] = s.holds[i] > 0
        places, of_places = self._outside  # where no variable describes the replica, the partition has it already
        taken = self._column[s.members[places]]
        most[of_places[taken != NONE], taken[taken != NONE]] = 0
        entries, low, high = self._rules()
        columns, rows, values = (np.concatenate(parts) for parts in zip(*entries, strict=True))
        return Formulas(cost.ravel(), (least.ravel(), most.ravel()), (columns, rows, values), low, high)

    def apply(self, chosen: Bools) -> None:
        """Write the choice into the sets and the loads."""
        s, space = self._s, self._rooms
        places, rows = self._places[self._moved], self._rows[self._moved]
        sizes = space.sizes[self._partitions][rows]
        targets = self._brokers[np.nonzero(chosen)[1]]
        for brokers, sign in ((s.members[places], -1), (targets, 1)):
            np.add.at(s.loads, brokers, sign)
            np.add.at(space.loads, brokers, sign * sizes)
        s.members[places] = targets

    def _rules(self) -> tuple[list[tuple[Int64s, Int64s, Float64s]], Float64s, Float64s]:
        """(columns, rows, values) of the constraints, the least and the most of each."""
        s, space, brokers, partitions = self._s, self._rooms, self._brokers, self._partitions
        width, cells = len(brokers), np.arange(len(partitions) * len(brokers))
        sizes = space.sizes[partitions]
        moved = np.zeros((2, len(s.loads)), np.int64)
        places, rows = self._places[self._moved], self._rows[self._moved]
        np.add.at(moved[0], s.members[places], 1)
        np.add.at(moved[1], s.members[places], sizes[rows])
        unit = max(float(gcd(*sizes.tolist())), 1.0, float(sizes.max(initial=0)) / LARGEST)
        room = _limited(space.capacities, space.loads - moved[1])[brokers] / unit
        most = _limited(s.most, s.loads - moved[0])[brokers]
        entries = [
            (cells, cells // width, np.ones(len(cells))),
            (cells, len(partitions) + cells % width, np.ones(len(cells))),
            (cells, len(partitions) + width + cells % width, np.repeat(sizes / unit, width)),
        ]
        low = [self._numbers.astype(np.float64), np.full(2 * width, -np.inf)]
        high = [self._numbers.astype(np.float64), most, room]
        more, more_low, more_high = self._rack_rules(len(partitions) + 2 * width)
        return [*entries, more], np.concatenate([*low, more_low]), np.concatenate([*high, more_high])

    def _rack_rules(self, row: int) -> tuple[tuple[Int64s, Int64s, Float64s], Float64s, Float64s]:
        """The same of the rack rules. row : the first constraint"""
        s, width = self._s, len(self._brokers)
        racks, rack_of = np.unique(s.racks[self._brokers], return_inverse=True)
        here = np.bincount(rack_of)
        outside = np.zeros((len(self._partitions), int(s.racks.max(initial=0)) + 1), np.int64)
        np.add.at(outside, (self._outside[1], s.racks[s.members[self._outside[0]]]), 1)
        columns, rows = list[Int64s](), list[Int64s]()
        low, high = list[float](), list[float]()
        for i, partition in enumerate(self._partitions.tolist()):
            rule = s.rules[partition]
            limits = _limits(s, partition) if rule == LIMITED else None
            reached = np.bincount(rack_of, self._permitted[i]) > 0
            for j, rack in enumerate(racks.tolist()):
                least, most = 0, int(here[j])
                if rule == ONE_PER_RACK:
                    most = 1 - outside[i, rack]
                elif rule == EVERY_RACK:
                    least = int(reached[j]) - outside[i, rack]
                elif limits is not None:
                    most = limits[rack] - outside[i, rack]
                if least <= 0 and most >= here[j]:
                    continue
                columns.append(i * width + np.flatnonzero(rack_of == j))
                rows.append(np.full(here[j], row + len(low)))
                low.append(least)
                high.append(most)
        if not low:
            nothing = np.empty(0, np.int64)
            return (nothing, nothing, np.empty(0)), np.empty(0), np.empty(0)
        flat = np.concatenate(columns)
        return (flat, np.concatenate(rows), np.ones(len(flat))), np.array(low, np.float64), np.array(high, np.float64)


def _limited(limits: Int64s, loads: Int64s) -> Float64s:
    """float64[brokers], what is left of the limits; infinite where there is none."""
    return np.where(limits == NO_LIMIT, np.inf, (limits - loads).astype(np.float64))


def _limits(s: ReplicaSets, partition: int) -> Int64s:
    """int64[racks], the most replicas of a partition on each, see ``exchanges.rack_limit``."""
    some = slice(s.home_offsets[partition], s.home_offsets[partition + 1])
    homes = s.homes[some][s.holds[some] != COMES]
    now = np.bincount(s.racks[homes[s.keeps[s.sets[partition], homes]]], minlength=int(s.racks.max(initial=0)) + 1)
    limits: Int64s = np.maximum(now, s.levels[partition])
    return limits


def _permitted(s: ReplicaSets, partitions: Int32s) -> Bools:
    """bool[partitions, brokers], which brokers may have each."""
    permitted: Bools = s.receives[s.sets[partitions]]
    for row, partition in enumerate(partitions.tolist()):
        homes = s.homes[s.home_offsets[partition] : s.home_offsets[partition + 1]]
        permitted[row, homes] = s.keeps[s.sets[partition], homes]
    return permitted
