"""franz-go's balancers, written plainly as Go has them; where Go goes through a map, a ``Random`` draws the order."""

from __future__ import annotations

import heapq
import itertools
from typing import TYPE_CHECKING, Any

from tests.reference.clients.sarama import subscriptions

if TYPE_CHECKING:
    from random import Random

    from tests.reference.clients.librdkafka import Answer, Body

Partition = tuple[str, int]


def members_in_order(body: Body) -> list[dict[str, Any]]:
    """As sortJoinMembers."""

    def key(member: dict[str, Any]) -> tuple[bool, str]:
        instance_id = member.get("instance_id")
        return (True, member["member_id"]) if instance_id is None else (False, instance_id)

    return sorted(body["members"], key=key)


def leaders(body: Body) -> dict[Partition, str]:
    """The rack of each partition's leader; empty if no member, or no leader, has one."""
    racks = {
        (topic["topic_name"], i): replicas[0]
        for topic in body["topics"]
        for i, replicas in enumerate(topic.get("partition_racks") or [])
        if replicas and replicas[0]
    }
    return racks if any(member.get("rack_id") for member in body["members"]) else {}


def roundrobin(body: Body) -> Answer:
    """As roundRobinBalancer."""
    subscribed = subscriptions(body)
    members = [member["member_id"] for member in members_in_order(body)]
    circle = itertools.cycle(members)
    answer: Answer = {member: [] for member in members}
    for topic in sorted(body["topics"], key=lambda topic: str(topic["topic_name"]).encode("utf-16-be")):
        if not any(topic["topic_name"] in topics for topics in subscribed.values()):
            continue
        for i in range(topic["partitions_count"]):
            member = next(member for member in circle if topic["topic_name"] in subscribed[member])
            answer[member].append((topic["topic_name"], i))
    return answer


def range_(body: Body, *, balance_racks: bool = False) -> Answer:
    """As rangeBalancer."""
    subscribed, racks = subscriptions(body), leaders(body) if balance_racks else {}
    answer: Answer = {member["member_id"]: [] for member in body["members"]}
    for topic in body["topics"]:
        name, count = topic["topic_name"], topic["partitions_count"]
        members = [member for member in members_in_order(body) if name in subscribed[member["member_id"]]]
        free = list(range(count))
        shares = [count // len(members) + (i < count % len(members)) for i in range(len(members))]
        for i, member in enumerate(members):
            here = [one for one in free if member.get("rack_id") and racks.get((name, one)) == member["rack_id"]][: shares[i]]
            answer[member["member_id"]] += [(name, one) for one in here]
            free = [one for one in free if one not in here]
            shares[i] -= len(here)
        for i, member in enumerate(members):
            answer[member["member_id"]] += [(name, one) for one in free[: shares[i]]]
            free = free[shares[i] :]
    return answer


def remove(items: list[Any], item: Any) -> None:
    """The last takes its place."""
    items[items.index(item)] = items[-1]
    items.pop()


class Heap:
    """membersByPartitions."""

    def __init__(self, members: list[int], plan: list[list[Partition]]) -> None:
        self.members, self.plan = list(members), plan
        for i in reversed(range(len(members) // 2)):
            self.down(i)

    def load(self, node: int) -> int:
        """How many partitions the member there has."""
        return len(self.plan[self.members[node]])

    def down(self, node: int) -> None:
        """Let it sink."""
        while (child := 2 * node + 1) < len(self.members):
            if child + 1 < len(self.members) and self.load(child + 1) < self.load(child):
                child += 1
            if self.load(node) <= self.load(child):
                break
            self.members[node], self.members[child] = self.members[child], self.members[node]
            node = child


class Sticky:
    """One run of BalanceWithRacks, with maps gone through in orders that ``random`` draws."""

    def __init__(self, body: Body, random: Random, *, balance_racks: bool = False) -> None:
        self.members = members_in_order(body)
        subscribed = subscriptions(body)
        self.wants = [subscribed[member["member_id"]] for member in self.members]
        counts = {
            topic["topic_name"]: topic["partitions_count"]
            for topic in body["topics"]
            if any(topic["topic_name"] in wanted for wanted in self.wants)
        }
        self.topics = random.sample(sorted(counts), len(counts))
        self.partitions = [(topic, i) for topic in self.topics for i in range(counts[topic])]
        self.potentials = {topic: [m for m, wants in enumerate(self.wants) if topic in wants] for topic in self.topics}
        self.complex = any(len(members) < len(self.members) for members in self.potentials.values())
        self.plan: list[list[Partition]] = [[] for _ in self.members]
        self.racks: dict[Partition, str] = {}
        if balance_racks:
            self.racks = {partition: rack for partition, rack in leaders(body).items() if partition[0] in counts}
        self.member_racks = [member.get("rack_id") or "" if self.racks else "" for member in self.members]
        in_map_order = random.sample(self.topics, len(self.topics))
        in_order = sorted(self.partitions, key=lambda partition: (in_map_order.index(partition[0]), partition[1]))
        of_leaders = [self.racks.get(partition, "") for partition in in_order]
        self.rack_numbers = {rack: n for n, rack in enumerate(dict.fromkeys(["", *self.member_racks, *of_leaders]))}
        if self.partitions:
            self.claims = [
                [(part["topic_name"], i) for part in member.get("owned_partitions") or [] for i in part["partition_ids"]]
                for member in self.members
            ]
            self._keep(random)
            self._fill()
            self._balance()
            if self.complex or self.racks:
                self._repair()

    # ---- what members keep -----------------------------------------------------------------------------------------------

    def _generation(self, m: int) -> int:
        generation = self.members[m].get("generation_id")
        return -1 if generation is None else int(generation)

    def _keep(self, random: Random) -> None:  # noqa: C901 (as Go has it)
        newest: dict[Partition, tuple[int, int]] = {}
        older: dict[Partition, tuple[int, int]] = {}
        for m, claims in enumerate(self.claims):
            generation = max(0, self._generation(m))
            for partition in claims:
                if partition not in newest or generation > newest[partition][0]:
                    if partition in newest:
                        older[partition] = newest[partition]
                    newest[partition] = generation, m
                elif partition not in older or generation > older[partition][0]:
                    older[partition] = generation, m
        self.owner: dict[Partition, int] = {}
        for partition in self.partitions:
            if partition in newest and partition[0] in self.wants[newest[partition][1]]:
                self._give(partition, newest[partition][1])
        stale = [partition for partition in self.partitions if partition in older]
        for partition in random.sample(stale, len(stale)):
            claimant, owner = older[partition][1], self.owner.get(partition)
            if partition[0] not in self.wants[claimant]:
                continue
            if owner is None:
                self._give(partition, claimant)
            elif len(self.plan[claimant]) + 1 < len(self.plan[owner]):
                remove(self.plan[owner], partition)
                self._give(partition, claimant)
        self.original = dict(self.owner)

    def _give(self, partition: Partition, m: int) -> None:
        self.plan[m].append(partition)
        self.owner[partition] = m

    # ---- what is free ----------------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        free = [partition for partition in self.partitions if partition not in self.owner]
        if self.complex:
            self._fill_complex(free)
            return
        if self.racks:
            heaps = {
                rack: Heap([m for m, its in enumerate(self.member_racks) if its == rack], self.plan) for rack in self.rack_numbers
            }
            for partition in free:
                rack = self.racks.get(partition, "")
                most = len(self.partitions) // len(self.members)
                if rack and heaps[rack].members and heaps[rack].load(0) < most:
                    self._give(partition, heaps[rack].members[0])
                    heaps[rack].down(0)
        heap = Heap(list(range(len(self.members))), self.plan)
        for partition in free:
            if partition not in self.owner:
                self._give(partition, heap.members[0])
                heap.down(0)

    def _fill_complex(self, free: list[Partition]) -> None:
        for topic in self.topics:
            members = self.potentials[topic]
            heaps = {rack: Heap([m for m in members if self.member_racks[m] == rack], self.plan) for rack in self.rack_numbers}
            for partition in free:
                if partition[0] != topic:
                    continue
                loads = {rack: heap.load(0) for rack, heap in heaps.items() if heap.members}
                best = min(loads, key=loads.__getitem__)
                rack = self.racks.get(partition, "")
                if rack and loads.get(rack) == loads[best]:
                    best = rack
                self._give(partition, heaps[best].members[0])
                heaps[best].down(0)

    # ---- the numbers -----------------------------------------------------------------------------------------------------

    def _balance(self) -> None:
        levels: dict[int, list[int]] = {}
        for m, partitions in enumerate(self.plan):
            levels.setdefault(len(partitions), []).append(m)
        if max(levels) <= min(levels) + 1:
            self.levels = levels
        elif self.complex:
            self.levels = levels
            self._balance_complex()
        else:
            for partitions in self.plan:
                if len(partitions) > min(levels) + 1:
                    partitions.sort(key=lambda partition: (partition[1], partition[0].encode("utf-16-be")))
            while max(levels) > min(levels) + 1:
                low, high = min(levels), max(levels)
                takers, givers = levels[low], levels[high]
                count = min(len(takers), len(givers))
                for taker, giver in zip(takers[:count], givers[:count], strict=True):
                    self._give(self.plan[giver].pop(), taker)
                levels.setdefault(low + 1, []).extend(takers[:count])
                levels.setdefault(high - 1, []).extend(givers[:count])
                del takers[:count], givers[:count]
                levels = {level: members for level, members in levels.items() if members}

    def _balance_complex(self) -> None:
        # Topic by topic, who holds which partitions; who has held any stays in its place.
        self.held: dict[str, dict[int, list[Partition]]] = {topic: {} for topic in self.topics}
        for partition in self.partitions:
            self.held[partition[0]].setdefault(self.owner[partition], []).append(partition)
        while len(self.levels) > 1:
            low, high = min(self.levels), max(self.levels)
            if high <= low + 1:
                return
            members, most = self.levels[low], self.levels[high]
            while members and most:
                way = self._way(members[0])
                if not way:
                    remove(members, members[0])
                for giver, taker, partition in way:
                    self._move(giver, taker, partition)
            self.levels = {level: members for level, members in self.levels.items() if members}

    def _way(self, start: int) -> list[tuple[int, int, Partition]]:
        """As findSteal."""
        reached: dict[int, tuple[int, Partition]] = {}
        heap = [(-len(self.plan[start]), 0, start)]
        while heap:
            load, distance, m = heapq.heappop(heap)
            if -load > len(self.plan[start]) + 1:
                way = []
                while m != start:
                    taker, partition = reached[m]
                    way.append((m, taker, partition))
                    m = taker
                return way
            for topic in self.topics:
                for holder, partitions in self.held[topic].items() if topic in self.wants[m] else ():
                    if partitions and holder != start and holder not in reached:
                        reached[holder] = m, partitions[0]
                        heapq.heappush(heap, (-len(self.plan[holder]), distance + 1, holder))
        return []

    def _move(self, giver: int, taker: int, partition: Partition) -> None:
        for m, change in ((giver, -1), (taker, 1)):
            remove(self.levels[len(self.plan[m])], m)
            self.levels.setdefault(len(self.plan[m]) + change, []).append(m)
        remove(self.plan[giver], partition)
        self._give(partition, taker)
        remove(self.held[partition[0]][giver], partition)
        self.held[partition[0]].setdefault(taker, []).append(partition)

    # ---- which they are --------------------------------------------------------------------------------------------------

    def _repair(self) -> None:  # noqa: C901, PLR0912 (as Go has it)
        numbers: dict[tuple[int, ...], int] = {}
        classes = {topic: numbers.setdefault(tuple(self.potentials[topic]), len(numbers)) for topic in self.topics}

        def row(partition: Partition) -> tuple[int, int]:
            return classes[partition[0]], self.rack_numbers[self.racks.get(partition, "")]

        rows = {row(partition) for partition in self.partitions}
        cells = []
        for m in range(len(self.members)):
            mine = sorted({classes[topic] for topic in self.topics if topic in self.wants[m]})
            cells += [(m, (number, rack)) for number in mine for rack in range(len(self.rack_numbers)) if (number, rack) in rows]
        has, came = dict.fromkeys(cells, 0), dict.fromkeys(cells, 0)
        for partition in self.partitions:
            has[self.owner[partition], row(partition)] += 1
            if partition in self.original:
                came[self.original[partition], row(partition)] += 1
        crossed = any(self.owner[partition] != m for partition, m in self.original.items())
        moved = False
        while rotations := self._rotations(cells, has, came):
            moved = True
            for cycle in rotations:
                shifts = any(step is None for step in cycle)
                steps = [step for step in cycle if isinstance(step, tuple)]
                count = 1 if shifts else min(room(has[cell], came[cell], change) for cell, change in steps)
                for cell, change in steps:
                    has[cell] += change * count
        if moved or crossed:
            piles: dict[tuple[int, int], list[Partition]] = {each: [] for each in rows}
            need = dict(has)
            for partitions in self.plan:
                for partition in partitions:
                    origin = self.original.get(partition)
                    if origin is not None and need[origin, row(partition)]:
                        need[origin, row(partition)] -= 1
                        self.owner[partition] = origin
                    else:
                        piles[row(partition)].append(partition)
            for m, which in cells:
                for partition in piles[which][: need[m, which]]:
                    self.owner[partition] = m
                del piles[which][: need[m, which]]

    def _rotations(self, cells: list[Any], has: dict[Any, int], came: dict[Any, int]) -> list[list[Any]]:  # noqa: C901 (as Go has it)
        """As find: cycles of (cell, change), None for a level, "" for a member that was reached from one."""
        loads = [sum(count for (m, _), count in has.items() if m == one) for one in range(len(self.members))]
        row_nodes = [(number, rack) for number in range(len(self.topics)) for rack in range(len(self.rack_numbers))]
        levels = list(dict.fromkeys(("level", load) for load in loads if load))
        nodes = [*row_nodes, *(("member", m) for m in range(len(loads))), *levels]
        cost: dict[Any, float] = dict.fromkeys(nodes, 0)
        before: dict[Any, Any] = {}

        def reach(node: Any, source: Any, price: float, step: Any) -> bool:
            if cost[source] + price >= cost[node]:
                return False
            cost[node] = cost[source] + price
            before[node] = source, step
            return True

        off_rack = len(self.partitions) + 1
        while True:
            lower = False
            for cell in cells:
                m, (number, rack) = cell
                away = rack and self.member_racks[m] and self.rack_numbers[self.member_racks[m]] != rack
                take = (has[cell] >= came[cell]) + (off_rack if away else 0)
                drop = -(has[cell] > came[cell]) - (off_rack if away else 0) if has[cell] else float("inf")
                lower |= reach(("member", m), (number, rack), take, (cell, 1))
                lower |= reach((number, rack), ("member", m), drop, (cell, -1))
            for m, load in enumerate(loads):
                if ("level", load + 1) in cost:
                    lower |= reach(("level", load + 1), ("member", m), 0, None)
                if load:
                    lower |= reach(("member", m), ("level", load), 0, "")
            if not lower:
                return []
            seen: dict[Any, Any] = {}
            cycles = []
            for start in nodes:
                node = start
                while node is not None and node not in seen:
                    seen[node] = start
                    node = before[node][0] if node in before else None
                if node is not None and seen[node] == start:
                    cycle, at = [], node
                    while not cycle or at != node:
                        at, step = before[at]
                        cycle.append(step)
                    cycles.append(cycle)
            if cycles:
                return cycles

    # ---- answers ---------------------------------------------------------------------------------------------------------

    def eager(self) -> Answer:
        """The answer of the sticky balancer."""
        answer: Answer = {member["member_id"]: [] for member in self.members}
        for partition in self.partitions:
            answer[self.members[self.owner[partition]]["member_id"]].append(partition)
        return answer

    def cooperative(self) -> Answer:
        """The answer of the cooperative one (AdjustCooperative)."""
        answer = self.eager()
        for m, member in enumerate(self.members):
            given = answer[member["member_id"]]
            answer[member["member_id"]] = [partition for partition in given if not self._withheld(partition, m)]
        return answer

    def _withheld(self, partition: Partition, m: int) -> bool:
        claimants = [one for one, claims in enumerate(self.claims) if partition in claims]
        newest = max((self._generation(one) for one in claimants), default=0)
        had = m in claimants and self._generation(m) == newest
        return not had and any(one != m for one in claimants)


def room(has: int, came: int, change: int) -> float:
    """How many partitions have the same price."""
    if change > 0:
        return came - has if has < came else float("inf")
    return has - came if has > came else has
