"""StripedReplicaPlacer as its own comment describes it: stripe over racks, within them over brokers, shuffle after a round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.reference.hash_order import iteration_order
from tests.reference.java_random import signed

if TYPE_CHECKING:
    from tests.reference.java_random import Random


class Circle:
    """The brokers of one rack that are fenced, or those that are not."""

    def __init__(self) -> None:
        self.brokers: list[int] = []
        self.start = self.position = self.last_epoch = 0

    def begin(self, random: Random) -> None:
        """Sort, and draw where to start."""
        self.brokers.sort()
        if self.brokers:
            self.start = random.next_int(len(self.brokers))

    def next(self, epoch: int) -> int | None:
        """The next broker of this epoch, if there is one left."""
        if not self.brokers:
            return None
        if self.last_epoch != epoch:
            self.last_epoch, self.position = epoch, 0
            self.start = (self.start + 1) % len(self.brokers)
        if self.position == len(self.brokers):
            return None
        self.position += 1
        return self.brokers[(self.start + self.position - 1) % len(self.brokers)]


def string_hash(text: str) -> int:
    """String.hashCode of a text without characters beyond U+FFFF."""
    code = 0
    for character in text:
        code = signed(31 * code + ord(character), 32)
    return code


def place(brokers: list[dict[str, Any]], partitions: int, factor: int, random: Random) -> list[list[int]]:
    """The replicas of each partition; the counts are possible."""
    racks = circles(brokers)
    names = list(racks)
    in_map = [names[i] for i in iteration_order([0 if name is None else string_hash(name) for name in names])]
    for name in in_map:
        for circle in racks[name]:
            circle.begin(random)
    rack_list = sorted(racks, key=lambda name: (name is not None, name))
    offset, epoch = random.next_int(len(rack_list)), 0
    unfenced_count = sum(not broker["fenced"] for broker in brokers)
    placement = []
    for _ in range(partitions):
        if epoch == unfenced_count > 1:
            random.shuffle(rack_list)
            for name in in_map:
                for circle in racks[name]:
                    random.shuffle(circle.brokers)
            epoch = 0
        offset %= len(rack_list)
        placement.append(replicas_of_one([racks[name] for name in rack_list], offset, epoch, factor))
        epoch, offset = epoch + 1, offset + 1
    return placement


def circles(brokers: list[dict[str, Any]]) -> dict[str | None, tuple[Circle, Circle]]:
    """Each rack's fenced and unfenced brokers; "no rack" is one of them."""
    racks: dict[str | None, tuple[Circle, Circle]] = {}
    for broker in brokers:
        fenced, unfenced = racks.setdefault(broker.get("rack_id"), (Circle(), Circle()))
        (fenced if broker["fenced"] else unfenced).brokers.append(broker["broker_id"])
    return racks


def replicas_of_one(racks: list[tuple[Circle, Circle]], offset: int, epoch: int, factor: int) -> list[int]:
    """The leader from the first rack that has one, then followers rack by rack, that rack passed over the first time."""
    leader_rack = offset
    while (leader := racks[leader_rack][1].next(epoch)) is None:
        leader_rack = (leader_rack + 1) % len(racks)
    replicas, rack, passed = [leader], offset, False
    while len(replicas) < factor:
        if rack == leader_rack and not passed:
            passed = True
        else:
            fenced, unfenced = racks[rack]
            follower = unfenced.next(epoch)
            follower = fenced.next(epoch) if follower is None else follower
            if follower is not None:
                replicas.append(follower)
        rack = (rack + 1) % len(racks)
    return replicas
