"""What each line of a log says of one group: of its coordinator, and of its consumers, kafka-clients' and librdkafka's.

Source: GroupCoordinator.scala (Kafka 1.0 to 3.9), GroupMetadataManager.java (since 4.0); AbstractCoordinator,
ConsumerCoordinator, AbstractMembershipManager; rdkafka_cgrp.c with ``debug=cgrp``. What a logger prints around a message is
ignored.
"""

import re
from collections.abc import Iterable
from typing import Any, Final

from service.descriptions.consumer_logs import ASSIGNMENT
from service.histories.causes import listed
from service.histories.events import SHOWN, Kind, Partition, StoredMember, ToldEvent
from service.histories.times import stamp_of

_LOGGER: Final = re.compile(r"\s+[(\[][\w$-]+(?:\.[\w$-]+)+[)\]]\s*$")
_PARTITION: Final = re.compile(r" \(__consumer_offsets-\d+\)")
"""What the coordinator in Scala writes behind a generation."""

_PARTS: Final = {
    "GENERATION": r"generation (?P<generation>\d{1,10})",
    "EPOCH": r"epoch (?:to )?(?P<generation>\d{1,10})",
    "COUNT": r"with (?P<members_count>\d{1,9}) members",
    "MEMBER": r"(?P<member>[^\s,\]]+)",
    "DESCRIBED": r"Member(?:\[group\.instance\.id [^\]]*?, member\.id (?P<other>[^\]]+)\]| (?P<plain>[^\s\[(]+))",
    "INSTANCE": r"instance id (?P<instance_id>\S+)",
    "STATIC": r"Static member with groupInstanceId=(?P<instance_id>\S+) and unknown member id joins group GROUP in ",
    "REASON": r"reason: (?P<reason>.*)",
    "ABSENT": r"(?:it failed to transition from epoch|the classic member failed to join)",
}
"""What the patterns below have in capitals, beside GROUP."""

_CLASSIC: Final = (
    (Kind.PREPARING, r"Preparing to rebalance group GROUP(?: in state \w+)? with old GENERATION(?: \(REASON\))?"),
    (Kind.STABILIZED, r"Stabilized group GROUP GENERATION(?: COUNT)?"),
    (Kind.ASSIGNED, r"Assignment received from leader(?: MEMBER)? for group GROUP for GENERATION"),
    (Kind.EMPTIED, r"Group GROUP with GENERATION is now empty"),
    (Kind.LEAVES, r"\[Group(?:Id)? GROUP\] (?:Dynamic m|M)ember MEMBER has left group through explicit.*?REASON"),
    (Kind.LEAVES, r"\[GroupId GROUP\] Static member with INSTANCE has left group through explicit.*?REASON"),
    (Kind.LEAVES, r"Member MemberMetadata\(memberId=MEMBER.* has left group GROUP through explicit `LeaveGroup`(?:.*?REASON)?"),
    (Kind.LEAVES, r"DESCRIBED in group GROUP has left, removing it from the group"),
    (Kind.EXPIRES, r"DESCRIBED in group GROUP has failed, removing it from the group"),
    (Kind.JOINS, r"Pending dynamic member with id MEMBER joins group GROUP in \w+ state"),
    (Kind.JOINS, r"Dynamic [Mm]ember with unknown member id joins group GROUP in .* new member id MEMBER (?:for .* )?and add"),
    (Kind.JOINS, r"STATIC.*Created a new member id MEMBER"),
    (Kind.RETURNS, r"STATIC.*Replacing previously mapped member MEMBER"),
    (Kind.LATE, r"Group GROUP removed (?:dynamic )?members who haven't (?:joined|sent their sync requests): (?P<members>.*)"),
    (Kind.LOADED, r"Loaded (?:classic|consumer) group GROUP COUNT"),
    (Kind.LOADED, r"Loading group metadata for GROUP with GENERATION"),
    (Kind.UNLOADED, r"(?:\[GroupId=GROUP\] Unload(?:ing|ed) group metadata for |Unloading group metadata for GROUP with )"),
)
_CONSUMER: Final = (
    (Kind.JOINS, r"(?:Static m|M)ember MEMBER(?: with INSTANCE)? joins the consumer group using"),
    (Kind.RETURNS, r"Static member with INSTANCE re-joins .*a new member (?P<new_member>\S+) to replace .* member MEMBER"),
    (Kind.LEAVES, r"(?:Static )?[Mm]ember MEMBER(?: with INSTANCE)? left the consumer group"),
    (Kind.LATE, r"Member MEMBER fenced from the group because ABSENT"),
    (Kind.EXPIRES, r"Member MEMBER fenced from the group because the member session expired"),
    (Kind.SUBSCRIBES, r"Member MEMBER updated its subscribed (?:topics|regex) to: (?P<topics>.*)"),
    (Kind.METADATA, r"Computed new (?:subscription metadata|metadata hash)"),
    (Kind.BUMPED, r"Bumped group EPOCH(?: with metadata hash (?P<hash>-?\d+))?"),
    (Kind.TARGET, r"Computed a new target assignment for EPOCH with '(?P<assignor>[^']*)' assignor"),
    (Kind.RECONCILED, r"Member MEMBER new assignment state: epoch=(?P<generation>\d{1,10}), .*?state=(?P<state>\w+)"),
)
_NUMBERS: Final = ("generation", "members_count")


def _compiled(patterns: Iterable[tuple[Kind, str]], group_id: str, prefix: str = "") -> list[tuple[Kind, re.Pattern[str]]]:
    parts = re.compile("|".join((*_PARTS, "GROUP")))
    group = re.escape(group_id)

    def filled(text: str) -> str:
        return parts.sub(lambda part: filled(_PARTS[part.group()]) if part.group() in _PARTS else group, text)

    return [(kind, re.compile(filled(prefix + pattern))) for kind, pattern in patterns]


class BrokerLog:
    """Reads the lines of one group of a source."""

    def __init__(self, group_id: str, source: int) -> None:
        self.source, self._of_group = source, f"[GroupId {group_id}] "
        self._classic = _compiled(_CLASSIC, group_id)
        self._consumer = _compiled(_CONSUMER, group_id, r"\[GroupId GROUP\] ")

    def take(self, number: int, line: str) -> list[ToldEvent]:
        """The events of a line: one, one for each of several members, or none."""
        text = _PARTITION.sub("", _LOGGER.sub("", line.rstrip()))
        for kind, pattern in (*(self._consumer if self._of_group in text else ()), *self._classic):
            if match := pattern.search(text):
                says: dict[str, Any] = {name: value for name, value in match.groupdict().items() if value is not None}
                says |= {name: int(says[name]) for name in _NUMBERS if name in says}
                member = next((says.pop(name).rstrip(".") for name in ("member", "other", "plain") if name in says), None)
                members = listed(says.pop("members")) if "members" in says else (member,)
                generation, at = says.pop("generation", None), stamp_of(line)
                shown = line.strip()[:SHOWN]
                return [ToldEvent(self.source, number, at, kind, shown, each, generation, says) for each in members]
        return []


# ---- consumers ----------------------------------------------------------------------------------------------------

MARKS: Final = (b"|MAXPOLL|", b"|JOINGROUP|")
"""Lines of librdkafka that do not name the group: the client did before."""

NEW: Final = "need to re-join with the given member-id"
"""What Java's client gives as its reason when it is new; librdkafka gives none."""

UNSAID: Final = {Kind.ASKS: NEW, Kind.CLOSES: "the consumer is being closed, or unsubscribed from all topics"}
"""What a line means that has no reason. A static member that closes does not leave."""

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
    (Kind.CLOSES, r"Member (?P<member>\S+) with epoch -?\d{1,10} transitioned from LEAVING to UNSUBSCRIBED"),
    (Kind.LED, r"Finished assignment for group at generation (?P<generation>\d{1,10}): (?P<members>\{.*\})"),
    (
        Kind.RECONCILED,
        r"Member (?P<member>\S+) with epoch (?P<generation>-?\d{1,10}) transitioned from (?P<before>\w+) to (?P<state>\w+)",
    ),
)
_LIBRDKAFKA: Final = (
    (Kind.JOINED, r"JoinGroup response: GenerationId (?P<generation>[1-9]\d{0,9}), .* my MemberId (?P<member>[^,]+)"),
    (Kind.POLLS_LATE, r"Application maximum poll interval \((?P<interval_ms>\d{1,10})ms\) exceeded by (?P<more_ms>\d{1,10})ms"),
    (Kind.CLOSES, r"unsubscribe from current subscription .*?\(leave group=true, has joined=true, (?P<member>[^,]+),"),
    (Kind.ASKS, r"JoinGroup response: GenerationId -1, .* my MemberId (?P<new>[^,]+), .*needs a valid member ID"),
    (Kind.ASKS, r'Group "[^"]*": Rejoining group .*?: (?P<reason>.*)'),
)
_COMPILED: Final = [[(kind, re.compile(pattern)) for kind, pattern in table] for table in (_JAVA, _LIBRDKAFKA)]
_MEMBER: Final = re.compile(r"updating member id \"[^\"]*\" -> \"([^\"]*)\"")


class ClientLog:
    """Reads the lines of the members of one group in a source. members : client → its member id, as far as it has said it"""

    def __init__(self, group_id: str, source: int) -> None:
        self.group_id, self.source = group_id, source
        self.members: dict[str, str] = {}

    def take(self, number: int, line: str) -> list[ToldEvent] | None:
        """The event of a line, if it tells one; None if it is no consumer's."""
        context, table = _CONTEXT.search(line), _COMPILED[0]
        if context is None:
            context, table = _RDKAFKA.search(line), _COMPILED[1]
        if context is None:
            return None
        client = context["client"]
        if (context["group"] or self.group_id) != self.group_id or (context["group"] is None and client not in self.members):
            return []
        self.members.setdefault(client, "")
        if renamed := _MEMBER.search(line):
            self.members[client] = renamed[1]
        for kind, pattern in table:
            if match := pattern.search(line):
                says: dict[str, Any] = {name: value for name, value in match.groupdict().items() if value}
                if kind in UNSAID and "reason" not in says:
                    says["reason"] = UNSAID[kind]
                elif kind == Kind.ASKS and table is _COMPILED[1] and not self.members[client]:
                    return []  # it has not joined before
                member = self.members[client] = says.pop("member", "") or self.members[client]
                generation = int(says.pop("generation", -1))
                instance = context.groupdict().get("instance")
                says |= {"client_id": client.partition("#")[0], "key": (self.source, client)}
                says |= {"instance_id": instance} if instance else {}
                if kind == Kind.LED:
                    says["members"] = {name: StoredMember(name, assigned=parts) for name, parts in _assigned(says["members"])}
                at, known = stamp_of(line), generation if generation >= 0 else None
                return [ToldEvent(self.source, number, at, kind, line.strip()[:SHOWN], member or None, known, says)]
        return []


def _assigned(text: str) -> list[tuple[str, frozenset[Partition]]]:
    """Member → partitions in a map of assignments as Java prints it."""
    found = []
    for each in ASSIGNMENT.finditer(text):
        names = (name.strip().rpartition("-") for name in each["partitions"].split(",") if name.strip())
        found.append((each["member"], frozenset((topic, int(i)) for topic, _, i in names)))
    return found
