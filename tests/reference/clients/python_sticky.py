"""The sticky assignors of kafka-python and aiokafka in plain Python, on the body of a request, as their classes go about it.

Slow, and meant to be read. Members are member_ids, partitions are (topic_name, partition_id).
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection

Body = dict[str, Any]
Partition = tuple[str, int]
Given = dict[str, list[Partition]]


class Throws(Exception):
    """The library's KeyError: it looks up a member that it has set aside."""


class Endless(Exception):
    """The library moves partitions for ever."""


class Executor:
    """StickyAssignmentExecutor.

    undoes : where another partition goes back in its stead, does a partition return as well (kafka-python)?
    sorts : does a member sort topics and ids, and say no generation (CooperativeStickyAssignor)?
    like_lists : do members with the same topics name them in the same order?
    chances : how often there was something to choose from in a set
    """

    def __init__(self, body: Body, *, undoes: bool, sorts: bool = False, like_lists: bool = True) -> None:
        self.undoes, self.sorts, self.chances, self.extra = undoes, sorts, 0, set[str]()
        self.counts = {topic["topic_name"]: topic["partitions_count"] for topic in body["topics"]}
        self.members = [member["member_id"] for member in body["members"]]
        self.topics = {m["member_id"]: m.get("topic_names", list(self.counts)) for m in body["members"]}
        self.can = {
            (topic, i): [m for m in self.members if topic in self.topics[m]] for topic, n in self.counts.items() for i in range(n)
        }
        self.potential = {m: [p for p in self.can if p[0] in self.topics[m]] for m in self.members}
        self.claims = {m["member_id"]: claims(m, sorts=sorts) for m in body["members"]}
        generations = {m["member_id"]: -1 if sorts else m.get("generation_id", -1) for m in body["members"]}
        self.assignment: Given = {m: [] for m in self.members}
        self.previous: dict[Partition, str] = {}
        self.settle(generations)
        equal = all(m == self.members for m in self.can.values())
        self.partitions = self.in_order(from_fullest=equal and like_lists)
        self.moved: dict[Partition, tuple[str, str]] = {}
        self.ways: dict[tuple[str, str, str], set[Partition]] = defaultdict(set)

    def settle(self, generations: dict[str, int]) -> None:
        """_init_current_assignments."""
        claimants: dict[Partition, dict[int, str]] = {}
        for member in self.members:
            for partition in self.claims[member]:
                by_generation = claimants.setdefault(partition, {})
                if generations[member] not in by_generation or generations[member] == 0:
                    by_generation[generations[member]] = member
        for partition, by_generation in claimants.items():
            newest = sorted(by_generation, reverse=True)
            self.assignment[by_generation[newest[0]]].append(partition)
            if len(newest) > 1:
                self.previous[partition] = by_generation[newest[1]]

    def in_order(self, *, from_fullest: bool) -> list[Partition]:
        """_populate_sorted_partitions."""
        order: list[Partition] = []
        left = {m: [p for p in owned if p in self.can] for m, owned in self.assignment.items()} if from_fullest else {}
        while any(left.values()):
            member = max(left, key=lambda m: (len(left[m]), m))
            returning = [p for p in left[member] if p in self.previous]
            order.append(self.choose(returning) if returning else left[member][-1])
            left[member].remove(order[-1])
        return order + sorted(self.can.keys() - set(order), key=lambda p: (len(self.can[p]), p))

    def choose(self, several: Collection[Partition]) -> Partition:
        """Any of a set."""
        self.chances += len(several) > 1
        return min(several)

    def run(self) -> Given:
        """perform_initial_assignment and balance."""
        revoked = any(p in self.can and m not in self.can[p] for m, owned in self.assignment.items() for p in owned)
        self.assignment = {m: [p for p in owned if m in self.can.get(p, ())] for m, owned in self.assignment.items()}
        self.owner = {p: m for m, owned in self.assignment.items() for p in owned}
        fresh = not self.owner
        free = [p for p in self.partitions if p not in self.owner and self.can[p]]
        for partition in free:
            self.owner[partition] = self.fewest(partition)
            self.assignment[self.owner[partition]].append(partition)
        self.taking_part = {
            m
            for m, owned in self.assignment.items()
            if len(owned) < len(self.potential[m]) or any(len(self.can[p]) > 1 for p in owned)
        }
        before = {m: list(owned) for m, owned in self.assignment.items()}
        if not revoked:
            self.reassign([p for p in free if len(self.can[p]) > 1])
        moved = self.reassign([p for p in self.partitions if len(self.can[p]) > 1])
        worse = self.inequality(self.assignment, self.extra) >= self.inequality(before, set())
        return before if moved and not fresh and worse else self.assignment

    def fewest(self, partition: Partition) -> str:
        """The subscriber with the fewest partitions."""
        return min(self.can[partition], key=lambda m: (len(self.assignment[m]), m))

    def reassign(self, partitions: list[Partition]) -> bool:
        """_perform_reassignments."""
        moves = passes = 0
        modified = True
        while modified:
            modified = False
            for partition in partitions:
                if self.balanced():
                    break
                to = self.receiver(partition)
                if to is not None:
                    self.send(partition, to)
                    moves, modified = moves + 1, True
            passes += 1
            if passes > 1000:
                raise Endless
        return moves > 0

    def receiver(self, partition: Partition) -> str | None:
        """The member that the partition goes to, if it moves."""
        size = len(self.assignment[self.owner[partition]])
        back = self.previous.get(partition)
        if back in self.taking_part and size > len(self.assignment[back]) + 1:
            return back
        if back is not None and back not in self.taking_part:
            self.extra.add(back)
            if size > 1:
                raise Throws(back)
        fewest = self.fewest(partition)
        return fewest if size > len(self.assignment[fewest]) + 1 else None

    def balanced(self) -> bool:
        """_is_balanced."""
        sizes = {m: len(self.assignment[m]) for m in self.taking_part}
        if min(sizes.values()) >= max(sizes.values()) - 1:
            return True
        return not any(
            sizes[m] != len(self.potential[m]) and self.owner[p] != m and sizes[m] < len(self.assignment[self.owner[p]])
            for m in self.taking_part
            for p in self.potential[m]
        )

    def send(self, partition: Partition, to: str) -> None:
        """_reassign_partition_to_consumer."""
        owner = self.owner[partition]
        source = self.moved[partition][0] if partition in self.moved else owner
        opposite = self.ways[partition[0], to, source]
        instead = self.choose(opposite) if opposite else partition
        if self.undoes and self.owner[instead] != owner:
            self.move(partition, self.owner[instead])
        self.move(instead, to)

    def move(self, partition: Partition, to: str) -> None:
        """_move_partition."""
        owner = self.owner[partition]
        source = owner
        if partition in self.moved:
            source, _ = self.moved.pop(partition)
            self.ways[partition[0], source, owner].remove(partition)
        if source != to:
            self.moved[partition] = source, to
            self.ways[partition[0], source, to].add(partition)
        self.assignment[owner].remove(partition)
        self.assignment[to].append(partition)
        self.owner[partition] = to

    def inequality(self, assignment: Given, extra: set[str]) -> int:
        """_get_balance_score."""
        sizes = [len(assignment[m]) for m in self.taking_part] + [0] * len(extra)
        return sum(abs(a - b) for i, a in enumerate(sizes) for b in sizes[:i])


def claims(member: Body, *, sorts: bool) -> list[Partition]:
    """What a member says it owns, topic by topic: it collects its partitions by topic, so that none of these is without any."""
    by_topic: dict[str, list[int]] = defaultdict(list)
    for row in member.get("owned_partitions") or ():
        for i in row["partition_ids"]:
            by_topic[row["topic_name"]].append(i)
    return [(topic, i) for topic, ids in by_topic.items() for i in (sorted(ids) if sorts else ids)]


def cooperative(executor: Executor) -> Given:
    """CooperativeStickyAssignor.assign: what another member claims is left out."""
    claimant = {partition: member for member in executor.members for partition in executor.claims[member]}
    return {m: [p for p in owned if claimant.get(p, m) == m] for m, owned in executor.run().items()}
