"""Logs of consumers: what a group's leader assigned, or what the members say that they got.

================= ====================================================================================================
Java's client     ``Finished assignment for group at generation 7: {…}`` of the leader (since 2.4; before at DEBUG); of each
                  member ``Successfully joined group with generation …``, ``Notifying assignor about the new Assignment(…)``,
                  ``Adding newly assigned partitions: …``, ``Revoke previously assigned partitions …``, ``Subscribed to
                  topic(s): …``; at DEBUG ``Performing assignment using strategy … with subscriptions {…}``
librdkafka        ``debug=assignor`` of the leader: ``Group "g" running range assignor for 2 member(s)``, `` Member "m" assigned
                  3 partition(s):``
================= ====================================================================================================

Whatever a logger prints before and after a message is ignored, and so is every other line of these clients.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from service.core.documents import Json
from service.descriptions.model import Description, UnreadableDescription

_CONTEXT: Final = re.compile(
    r"\[Consumer (?:instanceId=(?P<instance>[^,\]]+), )?clientId=(?P<client>[^,\]]+)(?:, groupId=(?P<group>[^\]]+))?\]"
)
_TOLD: Final = re.compile(
    r"Finished assignment for group|newly assigned partitions|Successfully (?:joined|synced) group|\" running \S+ assign"
)
_FINISHED: Final = re.compile(r"Finished assignment for group(?: at generation (?P<generation>[0-9]+))?: (?P<members>\{.*\})?")
_PERFORMING: Final = re.compile(
    r"Performing assignment .*?using strategy (?P<assignor>\S+) with subscriptions (?P<members>\{.*\})"
)
_ASSIGNMENT: Final = re.compile(r"(?:^\{|\), )(?P<member>.+?)=Assignment\(partitions=\[(?P<partitions>[^\]]*)\]")
_SUBSCRIPTION: Final = re.compile(r"(?:^\{|\), )(?P<member>.+?)=Subscription\((?P<fields>topics=.*?)(?=\)(?:, |\}))")
_FIELD: Final = re.compile(r"(\w+)=(?:Optional\[([^\]]*)\]|\[([^\]]*)\]|([^,]*))")
_JOINED: Final = re.compile(
    r"Successfully (?:joined group with|synced group in) generation (?:Generation\{generationId=)?(?P<generation>[0-9]+)"
    r"(?:, memberId='(?P<member>[^']*)', protocol='(?P<protocol>[^']*)')?"
)
_OWN: Final = re.compile(
    r"(?P<all>Notifying assignor about the new Assignment\(partitions=\[|Assigned partitions: +\[)(?P<whole>[^\]]*)\]"
    r"|(?P<more>Adding newly assigned partitions|Setting newly assigned partitions)[: ]+(?P<added>.*)"
    r"|(?:Revoke|Revoking|Lost) previously assigned partitions[: ]+(?P<gone>.*)"
)
_SUBSCRIBED: Final = re.compile(
    r"Subscribed to topic\(s\): (?P<topics>[A-Za-z0-9._-]+(?:, [A-Za-z0-9._-]+)*)"
    r"|Joining group with current subscription: \[(?P<now>.*?)\]"
)
_RECONCILING: Final = re.compile(r"Reconciling assignment with local epoch (?P<epoch>-?[0-9]+)")
_MEMBER_LINE: Final = re.compile(r"\sMember: +(?P<member>\S+)")
_TABLE_LINE: Final = re.compile(r"\s+(?:Current owned|Added|Revoked) partitions(?: \(.*\))?: +\[.*")
_PARTITION: Final = re.compile(r"([A-Za-z0-9._-]+)-([0-9]{1,7})(?=[,\]\s]|$)")

_DATED: Final = re.compile(r"\W{0,3}[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}")
"""Further lines of a log in which consumers write."""

_RDKAFKA: Final = re.compile(r"#(?:consumer|producer)-[0-9]+[|\]]")
_RUNNING: Final = re.compile(r'Group "(?P<group>[^"]+)" running (?P<assignor>\S+) assign(?:or|ment) for [0-9]+ member\(s\)')
_RD_MEMBER: Final = re.compile(
    r'Member "(?P<member>[^"]+)"(?P<me> \(me\))? (?:with (?:(?P<owned>[0-9]+) owned partition\(s\) and )?(?P<topics>[0-9]+)'
    r" subscri(?:bed topic|ption)\(s\)|assigned (?P<assigned>[0-9]+) partition\(s\))"
)
_RD_ROW: Final = re.compile(r"(?:^|\s)(?P<topic>\S+) \[(?P<partition>-?[0-9]+)\]$")
_RD_JOINED: Final = re.compile(r"JoinGroup response: GenerationId (?P<generation>[0-9]+), ")

_MESSAGE: Final = ("message", "msg", "log", "@message", "short_message")
_FORGETFUL: Final = ("range", "roundrobin")
"""Assignors for which it does not matter who owned what."""
UNNAMED: Final = "unnamed"
"""The group of messages without a logger's context, which names it."""


def messages(text: str) -> str:
    """The text with the message of each line that is a log line in JSON, if consumers' messages are among them."""
    if not _TOLD.search(text) or '{"' not in text:
        return text
    return "\n".join(_message(line) if line.lstrip().startswith("{") else line for line in text.split("\n"))


def _message(line: str) -> str:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return line
    found = next((document[name] for name in _MESSAGE if isinstance(document.get(name), str)), None)
    return line if found is None else " ".join(found.split("\n")).rstrip()


@dataclass
class _Member:
    """What the log tells of a member.

    owned : topic → partitions, of which it revokes ``gone`` before it gets others; previous : before the leader's assignment
    """

    fields: Json = field(default_factory=dict)
    owned: dict[str, set[int]] | None = None
    gone: dict[str, set[int]] = field(default_factory=dict)
    previous: dict[str, set[int]] | None = None
    generation: int = -1


@dataclass
class _Group:
    """What the log tells of a group.

    fields : of the group; generation : of the assignment, -1 if no leader's is in the log
    assigned : member → what the leader assigned; subscribed : the members that it assigned to; own : members by their own logs
    """

    fields: Json = field(default_factory=dict)
    generation: int = -1
    assigned: dict[str, dict[str, set[int]]] = field(default_factory=dict)
    subscribed: dict[str, _Member] = field(default_factory=dict)
    leading: _Member | None = None
    own: dict[str, _Member] = field(default_factory=dict)


class ConsumerLogs:
    """The groups that the lines tell of. clients : context → the member that it is; waiting : its fields before it has an id"""

    def __init__(self) -> None:
        self.groups: dict[str, _Group] = {}
        self.clients: dict[str, _Member] = {}
        self.context, self.group = "", UNNAMED
        self.member, self.rows, self.generation = "", 0, -1
        self.rows_are_owned = False
        self.notes: list[str] = []

    def take(self, number: int, line: str) -> bool:
        """Read a line; False if it is of another form. Raises UnreadableDescription for an assignment that is cut off."""
        if context := _CONTEXT.search(line):
            self.context, self.group = context.group(), context["group"] or UNNAMED
            known = {"client_id": context["client"], "instance_id": context["instance"]}
            self._client().fields.update({name: value for name, value in known.items() if value})
        return (
            self._java(number, line)
            or context is not None
            or self._rdkafka(line)
            or (bool(self.context) and _DATED.match(line) is not None)
        )

    def check_foreign(self, number: int, line: str) -> None:
        """No line has to be of this form."""

    def description(self) -> Description | None:
        """The groups whose members are told."""
        groups = [found for name, group in self.groups.items() if (found := self._told(name, group))]
        return Description("consumer-logs", groups=tuple(groups)) if groups else None

    def _client(self) -> _Member:
        return self.clients.setdefault(self.context, _Member())

    def _of(self) -> _Group:
        return self.groups.setdefault(self.group, _Group())

    def _java(self, number: int, line: str) -> bool:
        """Read a line of Java's client; False if it is none that tells something."""
        client = self._client()
        if match := _FINISHED.search(line):
            if match["members"] is None:
                raise UnreadableDescription("The assignment is cut off: it has no closing brace.", number)
            self._finished(int(match["generation"] or 0), match["members"], client)
        elif match := _PERFORMING.search(line):
            self._of().fields["assignor"] = match["assignor"]
            self._of().subscribed = dict(
                _subscribed(each, match["assignor"]) for each in _SUBSCRIPTION.finditer(match["members"])
            )
        elif match := _JOINED.search(line):
            self._joined(match, client)
        elif match := _OWN.search(line):
            _take_own(client, match)
        elif match := _SUBSCRIBED.search(line):
            client.fields["topic_names"] = sorted((match["topics"] or match["now"]).split(", "))
        elif match := _RECONCILING.search(line):
            self._of().fields |= {"group_protocol": "consumer", "client": "java"}
            client.generation = int(match["epoch"])
        elif (match := _MEMBER_LINE.search(line)) and self._of().fields.get("group_protocol") == "consumer":
            self._of().own[match["member"]] = client
            client.fields["member_id"] = match["member"]
        else:
            return _TABLE_LINE.fullmatch(line) is not None
        return True

    def _joined(self, match: re.Match[str], client: _Member) -> None:
        member_id = match["member"] or client.fields.get("client_id", "")
        if client.fields.get("member_id") not in (None, member_id):
            kept = {name: value for name, value in client.fields.items() if name != "member_id"}
            self.clients[self.context] = client = _Member(kept)
        client.fields["member_id"], client.generation = member_id, int(match["generation"])
        self._of().own[member_id] = client
        self._of().fields["client"] = "java"
        if match["protocol"]:
            self._of().fields["assignor"] = match["protocol"]

    def _finished(self, generation: int, members: str, client: _Member) -> None:
        """The leader's assignment; the latest counts."""
        group = self._of()
        if generation < group.generation:
            return
        group.assigned = {each["member"]: _partitions(each["partitions"]) for each in _ASSIGNMENT.finditer(members)}
        group.generation = generation
        group.fields["client"], group.leading = "java", client

    def _rdkafka(self, line: str) -> bool:
        """Read a line of librdkafka; False if it is of another form."""
        if match := _RUNNING.search(line):
            self.group, self.rows = match["group"], 0
            self.groups[self.group] = _Group({"client": "librdkafka", "assignor": match["assignor"]}, max(self.generation, 0))
        elif match := _RD_JOINED.search(line):
            self.generation = int(match["generation"])
        elif (match := _RD_MEMBER.search(line)) and self.group in self.groups:
            self._rd_member(match, self._of())
        elif self.rows and (match := _RD_ROW.search(line)):
            self.rows -= 1
            if self.rows_are_owned:
                self._of().assigned[self.member].setdefault(match["topic"], set()).add(int(match["partition"]))
            else:
                self._of().subscribed[self.member].fields.setdefault("topic_names", []).append(match["topic"])
        else:
            return _RDKAFKA.search(line) is not None
        return True

    def _rd_member(self, match: re.Match[str], group: _Group) -> None:
        self.member, self.rows_are_owned = match["member"], match["assigned"] is not None
        self.rows = int(match["assigned"] or match["topics"] or 0)
        if match["me"]:
            group.fields["leader"] = self.member
        if self.rows_are_owned:
            group.assigned[self.member] = {}
        else:
            group.subscribed[self.member] = _Member(previous={} if match["owned"] == "0" else None)

    def _told(self, name: str, group: _Group) -> Json | None:
        """The group in the shape of the request bodies; None if nothing is assigned in the log. Notes say what is not known."""
        latest = max((member.generation for member in group.own.values()), default=-1)
        own = {each: member for each, member in group.own.items() if member.generation == latest}
        assigned = group.assigned or {each: member.owned for each, member in own.items() if member.owned is not None}
        if not assigned:
            return None
        if not group.assigned:
            self.notes.append(
                f"The log does not have what the leader of group {name!r} assigned (Finished assignment for group …): members "
                "whose logs are not here are not known."
            )
        elif latest > group.generation:
            self.notes.append(f"Group {name!r} is described as of generation {group.generation}, though the log has {latest}.")
        members = []
        for member_id, owned in assigned.items():
            told = group.subscribed.get(member_id, _Member())
            known = group.own.get(member_id, _Member()).fields | told.fields
            previous = {} if told.previous is None else {"previous_partitions": _rows(told.previous)}
            members.append({**known, "member_id": member_id, "owned_partitions": _rows(owned), **previous})
        whole: Json = {"is_leaders": True} if group.assigned else {}
        if group.leading and "member_id" in group.leading.fields:
            whole["leader"] = group.leading.fields["member_id"]
        return {"group_id": name, "group_protocol": "classic", **group.fields, "members": members, **whole}


def as_logged(body: Json, group: Json) -> Json:
    """The body of an assignment that is compared with the one that the log of the group's leader has: ``expected``.

    The members then own what they owned before. Where that matters and is not known, the body stays as it is, which asks whether
    the assignor keeps the assignment.
    """
    if not group.get("is_leaders"):
        return body
    logged = {member["member_id"]: member for member in group["members"]}
    if body.get("assignor", "range").rpartition(":")[2] not in _FORGETFUL and not all(
        "previous_partitions" in member for member in logged.values()
    ):
        previous = {member_id: member["owned_partitions"] for member_id, member in logged.items()}
    else:
        previous = {member_id: member.get("previous_partitions", []) for member_id, member in logged.items()}
    members = [{**each, "owned_partitions": previous[each["member_id"]]} for each in body["members"]]
    expected = [{"member_id": member_id, "partitions": member["owned_partitions"]} for member_id, member in logged.items()]
    return {**body, "members": members, "expected": expected}


def _take_own(client: _Member, match: re.Match[str]) -> None:
    """What a member says of its own partitions."""
    if match["gone"] is not None:
        client.gone = _partitions(match["gone"])
        return
    owned = {} if match["all"] or client.owned is None else client.owned
    for name, ids in client.gone.items():
        owned.get(name, set()).difference_update(ids)
    for name, ids in _partitions(match["whole"] or match["added"] or "").items():
        owned.setdefault(name, set()).update(ids)
    client.owned, client.gone = owned, {}


def _subscribed(match: re.Match[str], assignor: str) -> tuple[str, _Member]:
    """A member with what it sent to the leader. To the assignor sticky it tells what it owned as user data, not logged."""
    found = {name: "".join(values) for name, *values in _FIELD.findall(match["fields"])}
    known: dict[str, Any] = {"topic_names": sorted(filter(None, found["topics"].split(", ")))}
    for name, field_name in (("groupInstanceId", "instance_id"), ("rackId", "rack_id")):
        if found.get(name, "null") not in ("null", ""):
            known[field_name] = found[name]
    if found.get("generationId", "-1") != "-1":
        known["generation_id"] = int(found["generationId"])
    logged = "ownedPartitions" in found and (assignor != "sticky" or "userDataSize" not in found)
    previous = _partitions(found["ownedPartitions"]) if logged else None
    return match["member"], _Member(known, previous=previous)


def _partitions(text: str) -> dict[str, set[int]]:
    """``orders-0, orders-1``: topic → partition ids."""
    partitions: dict[str, set[int]] = {}
    for name, partition in _PARTITION.findall(text.partition(" (")[0]):
        partitions.setdefault(name, set()).add(int(partition))
    return partitions


def _rows(partitions: dict[str, set[int]]) -> list[Json]:
    return [{"topic_name": name, "partition_ids": sorted(ids)} for name, ids in sorted(partitions.items()) if ids]
