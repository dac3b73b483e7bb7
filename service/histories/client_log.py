"""Logs of consumers, kafka-clients' and librdkafka's: what a member says of itself, and its leader of the assignment.

Source: AbstractCoordinator, ConsumerCoordinator, AbstractMembershipManager (Java); rdkafka_cgrp.c with ``debug=cgrp``.
"""

import re
from typing import Final

from service.histories.events import SHOWN, Kind, Partition, StoredMember, ToldEvent
from service.histories.times import stamp_of

MARKS: Final = (b"|MAXPOLL|", b"|JOINGROUP|")
"""Lines of librdkafka that do not name the group: the client did before."""

NEW: Final = "need to re-join with the given member-id"
"""What Java's client gives as its reason when it is new; librdkafka gives none."""

_CONTEXT: Final = re.compile(
    r"\[Consumer (?:instanceId=(?P<instance>[^,\[\]]+), )?clientId=(?P<client>[^,\[\]]+), groupId=(?P<group>[^\[\]]+)\]"
)
_RDKAFKA: Final = re.compile(r"\|(?P<client>[^|]+#consumer-\d+)\| \[thrd:[^\]]*\]: (?:.*?Group \"(?P<group>[^\"]*)\")?")
_GENERATION: Final = (
    r"(?:Generation\{generationId=)?(?P<generation>\d{1,10})(?:, memberId='(?P<member>[^']*)', protocol='(?P<protocol>[^']*)')?"
)
_JAVA: Final = (
    (Kind.JOINED, r"Successfully joined group with generation " + _GENERATION),
    (Kind.SYNCED, r"Successfully synced group in generation " + _GENERATION),
    (Kind.ASKS, r"Request joining group due to: (?P<reason>.*)"),
    (Kind.LEAVES, r"Member (?P<member>\S+) sending LeaveGroup request to coordinator .*? due to (?P<reason>.*)"),
    (Kind.POLLS_LATE, r"[Cc]onsumer poll timeout has expired"),
    (Kind.LED, r"Finished assignment for group at generation (?P<generation>\d{1,10}): (?P<members>\{.*\})"),
    (
        Kind.RECONCILED,
        r"Member (?P<member>\S+) with epoch (?P<generation>-?\d{1,10}) transitioned from (?P<before>\w+) to (?P<state>\w+)",
    ),
)
_LIBRDKAFKA: Final = (
    (Kind.JOINED, r"JoinGroup response: GenerationId (?P<generation>[1-9]\d{0,9}), .* my MemberId (?P<member>[^,]+)"),
    (Kind.POLLS_LATE, r"Application maximum poll interval \(\d+ms\) exceeded"),
    (Kind.ASKS, r"JoinGroup response: GenerationId -1, .* my MemberId (?P<new>[^,]+), .*needs a valid member ID"),
    (Kind.ASKS, r'Group "[^"]*": Rejoining group .*?: (?P<reason>.*)'),
)
_COMPILED: Final = [[(kind, re.compile(pattern)) for kind, pattern in table] for table in (_JAVA, _LIBRDKAFKA)]
_STARTS: Final = re.compile(r"updating member id \"[^\"]*\" -> \"\"")
_ASSIGNED: Final = re.compile(r"[{ ](?P<member>[^={}()]+)=Assignment\(partitions=\[(?P<partitions>[^\[\]]*)\]")


class ClientLog:
    """Reads the lines of the members of one group in a source. members : client → its member id, as far as it has said it"""

    def __init__(self, group_id: str, source: int) -> None:
        self.group_id, self.source = group_id, source
        self.members: dict[str, str] = {}

    def take(self, number: int, line: str) -> list[ToldEvent] | None:
        """The events of a line; None if it is no consumer's."""
        context, table = _CONTEXT.search(line), _COMPILED[0]
        if context is None:
            context, table = _RDKAFKA.search(line), _COMPILED[1]
        if context is None:
            return None
        client = context["client"]
        if (context["group"] or self.group_id) != self.group_id or (context["group"] is None and client not in self.members):
            return []
        self.members.setdefault(client, "")
        if _STARTS.search(line):
            self.members[client] = ""
        for kind, pattern in table:
            if match := pattern.search(line):
                found = {name: value for name, value in match.groupdict().items() if value}
                if kind == Kind.ASKS and "reason" not in found:
                    found["reason"] = NEW
                elif kind == Kind.ASKS and table is _COMPILED[1] and not self.members[client]:
                    return []  # it has not joined before
                member = self.members[client] = found.pop("member", "") or self.members[client]
                generation = int(found.pop("generation", -1))
                says = {**found, "client_id": client.partition("#")[0], "key": (self.source, client)}
                if kind == Kind.LED:
                    says["members"] = {name: StoredMember(name, assigned=parts) for name, parts in _assigned(found["members"])}
                at, instance = stamp_of(line), context.groupdict().get("instance")
                says |= {"instance_id": instance} if instance else {}
                return [
                    ToldEvent(
                        self.source,
                        number,
                        at,
                        kind,
                        line.strip()[:SHOWN],
                        member or None,
                        generation if generation >= 0 else None,
                        says,
                    )
                ]
        return []


def _assigned(text: str) -> list[tuple[str, frozenset[Partition]]]:
    """Member → partitions in a map of assignments as Java prints it."""
    found = []
    for each in _ASSIGNED.finditer(text):
        names = (name.strip().rpartition("-") for name in each["partitions"].split(",") if name.strip())
        found.append((each["member"], frozenset((topic, int(i)) for topic, _, i in names)))
    return found
