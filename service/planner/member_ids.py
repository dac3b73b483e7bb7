"""The ids that Kafka draws for the members of a group.

In a classic group the broker draws them (ClassicGroup.generateMemberId): ``<client.id>-<random UUID>``, for a static member
``<group.instance.id>-<random UUID>``. A member of the other protocols draws its own, Uuid.randomUuid in 22 characters
(ConsumerMembershipManager, ShareMembershipManager). Assignors that order members by id, or by a hash of it, hang on the draw.

Which ids will be drawn is not known. Here each is a hash of a seed, the number of the draw and the number of the id: other draws
have other ids, and the same question has the same ones.
"""

import hashlib
import re
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final
from uuid import UUID

CLIENT_IDS: Final = {
    "librdkafka": "rdkafka",
    "franz-go": "kgo",
    "sarama": "sarama",
    "kafka-python": "kafka-python",
    "aiokafka": "aiokafka",
    "kafkajs": "kafkajs",
    "kafka-go": "kafka-go@host (github.com/segmentio/kafka-go)",
}
"""The ``client.id`` of clients that were given none; in Python's a version follows. Java's is ``consumer-<group.id>-1``."""

_DRAWN: Final = re.compile(
    r"(?:(?P<client>.*)-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|[\w][\w-]{7}[QRST][\w-][CGKOSWaeimquy26-][\w-]{10}[AQgw]",
    re.DOTALL | re.ASCII,
)
"""A client's id and a UUID; or a random UUID in base64, where some characters have its version."""

_NUMBERED: Final = re.compile(r"(.*?)([0-9]+)", re.DOTALL)
_OF_JAVA: Final = re.compile(r"consumer-(?:.*-)?[0-9]+", re.DOTALL)
"""What Java's consumers are called by default: the last number counts those of one process."""


def client_id_of(member_id: str) -> str | None:
    """The part of an id that is not drawn, empty if all of it is; None for an id that nobody has drawn, such as ``c1``."""
    found = _DRAWN.fullmatch(member_id)
    return found and (found["client"] or "")


def default_client_id(client: str | None, group_id: str | None) -> str:
    """The ``client.id`` of a member that was given none. client : as in ``CLIENT_IDS``; default: Java's"""
    return CLIENT_IDS.get(client or "", f"consumer-{group_id or 'group'}-1")


class IdDraw:
    """One draw of the ids of a group's new members.

    protocol : of a member; client_id : of those that come to an empty group
    number : of the draw
    """

    def __init__(self, seed: int = 0, number: int = 0, client_id: str = "consumer-group-1") -> None:
        self.seed, self.number, self.client_id = seed, number, client_id
        self._drawn: Counter[str] = Counter()

    def further(self, present: Sequence[str], count: int, protocol: str, taken: Collection[str] = ()) -> list[str]:
        """The ids of members that come to these: the first of more are the same as those of fewer.

        Their ``client.id`` is that of present members. Among present ids that nobody has drawn, each place is as likely as
        another: a new member's id is one of them, or the beginning of all, with a random part.
        """
        in_base64 = protocol != "classic"
        names = self._client_ids(present, count, protocol)
        return [self._next("further", name, taken, base64=in_base64 and not name) for name in names]

    def again(self, name: str, member_id: str, instance_id: str | None, taken: Collection[str], *, migrates: bool = False) -> str:
        """The id of a member that starts again. name : of the member, whose starts are counted

        member_id : its former one; migrates : from the classic protocol to another?
        """
        client_id = client_id_of(member_id)
        in_base64 = client_id == "" or (migrates and client_id is not None)
        before = instance_id or (member_id if client_id is None else client_id)
        return self._next(name, "" if in_base64 else before, taken, base64=in_base64)

    def _client_ids(self, present: Sequence[str], count: int, protocol: str) -> list[str]:
        """What goes before the random part of each new id."""
        known = [client_id for one in present if (client_id := client_id_of(one)) is not None]
        if present and not known:
            low, high = min(present), max(present)
            shared = next((i for i, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), len(low) - 1)
            places = [low[:shared], *present]
            return [self._one_of(places, i) for i in range(count)]
        if protocol != "classic":
            return [""] * count
        known = [client_id for client_id in known if client_id] or [self.client_id]
        if len(known) > 1 and not _OF_JAVA.fullmatch(known[0]) and (further := _next_numbers(known, count)):
            return further
        distinct, often = sorted(set(known), key=lambda one: (len(one), one)), set(Counter(known).values())
        return [distinct[i % len(distinct)] if len(often) == 1 else self._one_of(known, i) for i in range(count)]

    def _one_of(self, values: Sequence[str], i: int) -> str:
        return values[self._bits(f"client {self._drawn['further'] + i}") % len(values)]

    def _next(self, key: str, client_id: str, taken: Collection[str], *, base64: bool) -> str:
        """The next id with this key that is not taken and, in base64, does not begin with a dash: Uuid.randomUuid."""
        while True:
            self._drawn[key] += 1
            uuid = UUID(int=self._bits(f"{key} {self._drawn[key]}"), version=4)
            text = urlsafe_b64encode(uuid.bytes).decode().rstrip("=") if base64 else str(uuid)
            member_id = f"{client_id}-{text}" if client_id else text
            if member_id not in taken and not (base64 and text.startswith("-")):
                return member_id

    def _bits(self, key: str) -> int:
        """128 random bits."""
        text = f"{self.seed} {self.number} {key}".encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.blake2b(text, digest_size=16).digest())


def further_instance_ids(present: Sequence[str], drawn: Sequence[str]) -> list[str]:
    """The ``group.instance.id`` of static members that come to these: the next numbers, if they have any.

    drawn : their ids, which are taken where the present ones have been drawn as well
    """
    if client_id_of(present[-1]) is not None:
        return list(drawn)
    count = len(drawn)
    return _next_numbers(present, count) or [f"{present[-1]}-{i}" for i in range(1, count + 1)]


def _next_numbers(names: Sequence[str], count: int) -> list[str]:
    """``worker-3``, ``worker-4`` … after ``worker-1`` and ``worker-2``; nothing unless each name has a number of its own."""
    found = [match for name in names if (match := _NUMBERED.fullmatch(name))]
    if len(found) < len(names) or len({one[1] for one in found}) > 1 or len({int(one[2]) for one in found}) < len(names):
        return []
    last = max((one[2] for one in found), key=int)
    width = len(last) if any(one[2].startswith("0") and len(one[2]) > 1 for one in found) else 0
    return [f"{found[0][1]}{int(last) + i:0{width}}" for i in range(1, count + 1)]
