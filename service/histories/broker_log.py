"""The log of a group coordinator: what each line says of one group.

Source: GroupCoordinator.scala (Kafka 1.0 to 3.9), GroupMetadataManager.java (since 4.0). Whatever a logger prints before and
after a message is ignored.
"""

import re
from collections.abc import Iterable
from typing import Any, Final

from service.histories.causes import listed
from service.histories.events import SHOWN, Kind, ToldEvent
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
                return self._events(number, line, kind, match.groupdict())
        return []

    def _events(self, number: int, line: str, kind: Kind, found: dict[str, Any]) -> list[ToldEvent]:
        says = {name: value for name, value in found.items() if value is not None}
        for name in _NUMBERS:
            if name in says:
                says[name] = int(says[name])
        member = next((says.pop(name) for name in ("member", "other", "plain") if name in says), None)
        member = member and member.rstrip(".")  # a sentence's end
        generation = says.pop("generation", None)
        members = listed(says.pop("members")) if "members" in says else (member,)
        at = stamp_of(line)
        return [ToldEvent(self.source, number, at, kind, line.strip()[:SHOWN], each, generation, says) for each in members]
