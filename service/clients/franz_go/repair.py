"""How franz-go's sticky balancers end a run: the same numbers of partitions, but more on their racks, and more where they were.

Topics with the same subscribers form a class, and the partitions of a class whose leaders are on the same rack a *row*: no member
can tell them apart. A *cell* counts how many partitions of a row a member has, and how many it came in with. One more costs a
move, unless the member is below what it came in with, and far more if it is on another rack. A *rotation* takes one from some
cells and adds one to others, so that rows keep their partitions and the sorted numbers of members stay what they are.

1. Bellman-Ford's search, from all rows, members and levels of load at once, finds rotations that lower the cost, until there are
   none. In what order cells are looked at decides which; that is the order of members, classes and racks.
2. Members take back what they came in with, as far as their cells count so many. The rest of each row is given out in order.

Source: repair.go (franz-go 1.22.2). Plain-Python twin: tests/reference/clients/franz_go.py.
"""

from typing import Final, NamedTuple

import numpy as np

from service.clients.franz_go.state import SURE, UNSURE, Given, Run
from service.core.budget import OUT_OF_TIME, Deadline, is_over
from service.core.kernels import inner_kernel
from service.core.model import NONE, Bools, Int32s, Int64s

NO_DROP: Final = 1 << 62
"""What it costs to give up what a cell does not have: more than any rotation saves."""


class RepairCells(NamedTuple):
    """The cells of the rows that have partitions, by member, class and rack.

    row, node : int32[cells] each        the cell's row, and the number of rows plus its member
    has, came : int32[cells] each        how many partitions it counts, and with how many the member came in
    off_rack : bool[cells]               is the member on another rack than the row?
    take, drop : int64[cells] each       what one more costs, and one fewer
    classes_of, classes : member → its classes, ascending
    cell_at : int32[...]                 the cell of each slot; member and class in this order, a slot for each rack; NONE: none
    class_number : int32[topics]         classes in the order of their first topics
    load : int32[members]                how many partitions each has
    """

    row: Int32s
    node: Int32s
    has: Int32s
    came: Int32s
    off_rack: Bools
    take: Int64s
    drop: Int64s
    classes_of: Int32s
    classes: Int32s
    cell_at: Int32s
    class_number: Int32s
    load: Int32s


@inner_kernel
def repair(given: Given, run: Run, certain: bool, deadline: Deadline) -> int:  # noqa: FBT001 (a kernel)
    """Rearrange what members have; updates ``run.owners``. Returns SURE, UNSURE or OUT_OF_TIME.

    certain : give up, UNSURE, if anything is to be rearranged, for then the order of topics may decide
    """
    stride = given.racks_count[0] + 1
    off_rack = 1  # no two ways to have the partitions differ by more moves than there are partitions
    for topic in run.topics:
        off_rack += given.first[topic + 1] - given.first[topic]
    table, rows = _table(given, run, stride, off_rack)
    moved = False
    while True:
        turned, in_time = _rotate(table, rows, off_rack, certain, deadline)
        if not in_time:
            return OUT_OF_TIME
        if not turned:
            break
        moved = True
        if certain:
            return UNSURE
    crossed = False
    for topic in run.topics:
        for partition in range(given.first[topic], given.first[topic + 1]):
            crossed |= run.original[partition] != NONE and run.original[partition] != run.owners[partition]
    if certain:
        return UNSURE if crossed else SURE
    if moved or crossed:
        _realize(given, run, table, rows, stride)
    return SURE


@inner_kernel
def _rack(given: Given, partition: int) -> int:
    return int(given.leader_racks[partition]) if len(given.leader_racks) > 0 else 0


@inner_kernel
def _slot(given: Given, table: RepairCells, partition: int, member: int, stride: int) -> int:
    """The slot of a member that subscribes to the partition's topic."""
    start, stop = table.classes_of[member], table.classes_of[member + 1]
    number = table.class_number[given.topic_of[partition]]
    place = start + np.searchsorted(table.classes[start:stop], np.int32(number))
    return int(place * stride + _rack(given, partition))


@inner_kernel
def _classes(given: Given, run: Run) -> tuple[Int32s, Int32s, Int32s, int]:
    """Member → its classes, ascending; the class of each topic, int32[topics]; and the number of classes."""
    class_number = np.full(len(given.first) - 1, NONE, np.int32)
    count = 0
    for topic in run.topics:
        of = given.class_of[topic]
        if class_number[of] == NONE:  # of a class its first topic by name may come later
            class_number[of] = count
            count += 1
    for topic in run.topics:
        class_number[topic] = class_number[given.class_of[topic]]
    members_count = len(run.plan.size)
    seen = np.full(count, NONE, np.int32)
    classes_of, classes = np.zeros(members_count + 1, np.int32), np.empty(len(run.interests), np.int32)
    end = 0
    for member in range(members_count):
        start = end
        for i in range(run.interests_of[member], run.interests_of[member + 1]):
            number = class_number[run.interests[i]]
            if seen[number] != member:
                seen[number] = member
                classes[end] = number
                end += 1
        classes[start:end].sort()
        classes_of[member + 1] = end
    return classes_of, classes[:end], class_number, count


@inner_kernel
def _table(given: Given, run: Run, stride: int, off_rack: int) -> tuple[RepairCells, int]:
    """The table, and the number of rows. off_rack : what one more on another rack costs"""
    classes_of, classes, class_number, count = _classes(given, run)
    rows = count * stride
    slots = len(classes) * stride
    has, came, cell_at = np.zeros(slots, np.int32), np.zeros(slots, np.int32), np.full(slots, NONE, np.int32)
    none, nothing = np.empty(0, np.int32), np.empty(0, np.int64)
    load = run.plan.size.copy()
    table = RepairCells(
        none, none, none, none, np.empty(0, np.bool_), nothing, nothing, classes_of, classes, cell_at, class_number, load
    )
    total = np.zeros(rows, np.int32)
    for topic in run.topics:
        for partition in range(given.first[topic], given.first[topic + 1]):
            has[_slot(given, table, partition, run.owners[partition], stride)] += 1
            total[class_number[topic] * stride + _rack(given, partition)] += 1
            if run.original[partition] != NONE:
                came[_slot(given, table, partition, run.original[partition], stride)] += 1
    cells = 0
    for slot in range(slots):
        if total[classes[slot // stride] * stride + slot % stride] > 0:
            cell_at[slot] = cells
            cells += 1
    row, node, away = np.empty(cells, np.int32), np.empty(cells, np.int32), np.zeros(cells, np.bool_)
    cell_has, cell_came = np.empty(cells, np.int32), np.empty(cells, np.int32)
    for member in range(len(load)):
        for slot in range(classes_of[member] * stride, classes_of[member + 1] * stride):
            cell = cell_at[slot]
            if cell != NONE:
                rack = slot % stride
                row[cell], node[cell] = classes[slot // stride] * stride + rack, rows + member
                cell_has[cell], cell_came[cell] = has[slot], came[slot]
                away[cell] = rack > 0 and given.member_racks[member] > 0 and given.member_racks[member] != rack
    take, drop = np.empty(cells, np.int64), np.empty(cells, np.int64)
    table = RepairCells(row, node, cell_has, cell_came, away, take, drop, classes_of, classes, cell_at, class_number, load)
    for cell in range(cells):
        _price(table, cell, off_rack)
    return table, rows


@inner_kernel
def _price(table: RepairCells, cell: int, off_rack: int) -> None:
    """What one more costs, and one fewer (reprice). off_rack : what one more on another rack costs"""
    has, came = table.has[cell], table.came[cell]
    take, drop = np.int64(has >= came), np.int64(-1 if has > came else 0)
    if table.off_rack[cell]:
        take += off_rack
        drop -= off_rack
    table.take[cell], table.drop[cell] = take, NO_DROP if has == 0 else drop


@inner_kernel
def _rotate(  # noqa: C901, PLR0912 (a kernel)
    table: RepairCells,
    rows: int,
    off_rack: int,
    certain: bool,  # noqa: FBT001 (a kernel)
    deadline: Deadline,
) -> tuple[bool, bool]:
    """Look for rotations that lower the cost, and turn all that are found at once (find, apply).

    Returns whether there were any, and whether the time was enough to look for them.

    certain : only look
    """
    load, members_count = table.load, len(table.load)
    level_node = np.full(load.max() + 2, NONE, np.int32)
    nodes = rows + members_count
    for count in load:
        if count > 0 and level_node[count] == NONE:
            level_node[count] = nodes
            nodes += 1
    cost = np.zeros(nodes, np.int64)
    via, before = np.full(nodes, NONE, np.int32), np.full(nodes, NONE, np.int32)
    seen = np.empty(nodes, np.int32)
    for _ in range(nodes):
        if is_over(deadline):
            return False, False
        lower = False
        for cell in range(len(table.row)):
            row, member = table.row[cell], table.node[cell]
            if cost[row] + table.take[cell] < cost[member]:
                cost[member], via[member], before[member] = cost[row] + table.take[cell], cell, row
                lower = True
            if cost[member] + table.drop[cell] < cost[row]:
                cost[row], via[row], before[row] = cost[member] + table.drop[cell], cell, member
                lower = True
        for i in range(members_count):
            member, up, here = rows + i, level_node[load[i] + 1], level_node[load[i]]
            if up != NONE and cost[member] < cost[up]:
                cost[up], via[up], before[up] = cost[member], NONE, member
                lower = True
            if load[i] > 0 and cost[here] < cost[member]:
                cost[member], via[member], before[member] = cost[here], NONE, here
                lower = True
        if not lower:
            return False, True
        found = False
        seen[:] = NONE
        for start in range(nodes):
            node = start
            while node != NONE and seen[node] == NONE:
                seen[node] = start
                node = before[node]
            if node != NONE and seen[node] == start:
                found = True
                if not certain:
                    _turn(table, rows, rows + members_count, via, before, node, off_rack)
        if found:
            return True, True
    return False, True


@inner_kernel
def _turn(table: RepairCells, rows: int, levels: int, via: Int32s, before: Int32s, start: int, off_rack: int) -> None:
    """Turn the rotation through this node by as many partitions as have the same price; one if it shifts load.

    levels : the first node of a level
    """
    most, shifts, node = np.int64(1) << 31, False, start
    while True:
        cell = via[node]
        if node >= levels:
            shifts = True
        elif cell != NONE:
            has, came = np.int64(table.has[cell]), np.int64(table.came[cell])
            if node < rows:
                most = min(most, has - came if has > came else has)
            elif has < came:
                most = min(most, came - has)
        node = before[node]
        if node == start:
            break
    count = np.int64(1) if shifts else most
    while True:
        cell = via[node]
        if node < levels and cell != NONE:
            change = -count if node < rows else count
            table.has[cell] += change
            table.load[table.node[cell] - rows] += change
            _price(table, cell, off_rack)
        node = before[node]
        if node == start:
            break


@inner_kernel
def _realize(given: Given, run: Run, table: RepairCells, rows: int, stride: int) -> None:
    """Give out partitions as the table counts them (realizeAssignment)."""
    need = table.has.copy()
    left = np.empty(len(run.owners), np.int32)
    left_of = np.zeros(rows, np.int32)
    count = 0
    for member in range(len(run.plan.size)):
        partition = run.plan.head[member]
        while partition != NONE:
            origin = run.original[partition]
            cell = NONE if origin == NONE else table.cell_at[_slot(given, table, partition, origin, stride)]
            if cell != NONE and need[cell] > 0:
                need[cell] -= 1
                run.owners[partition] = origin
            else:
                left[count] = partition
                left_of[table.class_number[given.topic_of[partition]] * stride + _rack(given, partition)] += 1
                count += 1
            partition = run.plan.after[partition]
    next_of = np.zeros(rows + 1, np.int32)
    next_of[1:] = np.cumsum(left_of)
    piles, cursor = np.empty(count, np.int32), next_of[:-1].copy()
    for i in range(count):
        row = table.class_number[given.topic_of[left[i]]] * stride + _rack(given, left[i])
        piles[cursor[row]] = left[i]
        cursor[row] += 1
    for cell in range(len(table.row)):
        row = table.row[cell]
        for _ in range(need[cell]):
            run.owners[piles[next_of[row]]] = table.node[cell] - rows
            next_of[row] += 1
