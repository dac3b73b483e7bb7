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
    result = explained(brokers, partitions, factor, random)
    return [[replica["broker_id"] for replica in partition["replicas"]] for partition in result]


def explained(brokers: list[dict[str, Any]], partitions: int, factor: int, random: Random) -> list[dict[str, Any]]:
    """The same with how each replica was found."""
    racks = circles(brokers)
    names = list(racks)
    in_map = [names[i] for i in iteration_order([0 if name is None else string_hash(name) for name in names])]
    for name in in_map:
        for circle in racks[name]:
            circle.begin(random)
    rack_list = sorted(racks, key=lambda name: (name is not None, name))
    offset, epoch = random.next_int(len(rack_list)), 0
    unfenced_count = sum(not broker["fenced"] for broker in brokers)
    found = []
    for partition in range(partitions):
        if epoch == unfenced_count > 1:
            random.shuffle(rack_list)
            for name in in_map:
                for circle in racks[name]:
                    random.shuffle(circle.brokers)
            epoch = 0
        offset %= len(rack_list)
        replicas = replicas_of_one([racks[name] for name in rack_list], offset, epoch, factor)
        for replica in replicas:
            replica["rack_id"] = rack_list[replica.pop("rack")]
        found.append({"partition_id": partition, "epoch": epoch, "rack_offset": offset, "replicas": replicas})
        epoch, offset = epoch + 1, offset + 1
    return found


def circles(brokers: list[dict[str, Any]]) -> dict[str | None, tuple[Circle, Circle]]:
    """Each rack's fenced and unfenced brokers; "no rack" is one of them."""
    racks: dict[str | None, tuple[Circle, Circle]] = {}
    for broker in brokers:
        fenced, unfenced = racks.setdefault(broker.get("rack_id"), (Circle(), Circle()))
        (fenced if broker["fenced"] else unfenced).brokers.append(broker["broker_id"])
    return racks


def replicas_of_one(racks: list[tuple[Circle, Circle]], offset: int, epoch: int, factor: int) -> list[dict[str, Any]]:
    """The leader from the first rack that has one, then followers rack by rack, that rack passed over the first time."""
    leader_rack, in_vain = offset, 0
    while (leader := racks[leader_rack][1].next(epoch)) is None:
        leader_rack = (leader_rack + 1) % len(racks)
        in_vain += 1
    rule = "leader: the next unfenced broker of the first rack, from rack_offset on, that has one left"
    replicas = [{"broker_id": leader, "rack": leader_rack, "racks_without_one_left": in_vain, "rule": rule}]
    rack, passed, past, in_vain = offset, False, "", 0
    while len(replicas) < factor:
        if rack == leader_rack and not passed:
            passed, past = True, ", past the leader's,"
        else:
            fenced, unfenced = racks[rack]
            rule = f"follower: the next unfenced broker of the next rack{past} that has a broker left"
            follower = unfenced.next(epoch)
            if follower is None:
                follower = fenced.next(epoch)
                rule = f"follower: the next fenced broker of the next rack{past} that has a broker left, no unfenced one"
            if follower is None:
                in_vain += 1
            else:
                replicas.append({"broker_id": follower, "rack": rack, "racks_without_one_left": in_vain, "rule": rule})
                past, in_vain = "", 0
        rack = (rack + 1) % len(racks)
    return replicas
