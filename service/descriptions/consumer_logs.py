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

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from service.core.documents import Json
from service.descriptions.model import (
    UNNAMED,
    Description,
    LineReader,
    UnreadableDescription,
    by_topic,
    listed,
    partitions_in,
)

Partitions = dict[str, set[int]]

_CONTEXT: Final = re.compile(
    r"\[Consumer (?:instanceId=(?P<instance_id>[^,\[\]]+), )?clientId=(?P<client_id>[^,\[\]]+)"
    r"(?:, groupId=(?P<group>[^\[\]]+))?\]"
)
_FINISHED: Final = re.compile(r"Finished assignment for group(?: at generation (?P<generation>[0-9]+))?: (?P<members>\{.*\})?")
_PERFORMING: Final = re.compile(r"Performing assignment using strategy (?P<name>\S+) with subscriptions (?P<members>\{.*)")
ASSIGNMENT: Final = re.compile(r"[{ ](?P<member>[^={}()]+)=Assignment\(partitions=\[(?P<partitions>[^\[\]]*)\]")
_SUBSCRIPTION: Final = re.compile(r"[{ ](?P<member>[^={}()]+)=Subscription\((?P<fields>topics=[^()]*)")
_FIELD: Final = re.compile(r"(\w+)=(?:Optional\[([^\]]*)\]|\[([^\]]*)\]|([^,]*))")
_JOINED: Final = re.compile(
    r"Successfully (?:joined group with|synced group in) generation (?:Generation\{generationId=)?(?P<generation>[0-9]+)"
    r"(?:, memberId='(?P<member>[^']*)', protocol='(?P<protocol>[^']*)')?"
)
_OWN: Final = re.compile(
    r"(?:Notifying assignor about the new Assignment\(partitions=\[|\sAssigned partitions: +\[)(?P<whole>[^\[\]]*)\]"
    r"|(?:Adding|Setting) newly assigned partitions(?P<added>.*)"
    r"|(?:Revoke|Revoking|Lost) previously assigned partitions(?P<gone>.*)"
)
_SUBSCRIBED: Final = re.compile(
    r"(?:Subscribed to topic\(s\): |Joining group with current subscription: \[)(?P<topics>[A-Za-z0-9._-]+(?:, [A-Za-z0-9._-]+)*)"
)
_PARTITION: Final = re.compile(r"(?<![A-Za-z0-9._-])([A-Za-z0-9._-]+)-([0-9]{1,7})(?=[,\]\s]|$)")
_DATED: Final = re.compile(r"\W{0,3}[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}")
"""Further lines of a log in which consumers write."""

_RDKAFKA: Final = re.compile(r"#(?:consumer|producer)-[0-9]+[|\]]")
_RUNNING: Final = re.compile(r'Group "(?P<group>[^"]+)" running (?P<assignor>\S+) assign(?:or|ment) for [0-9]+ member\(s\)')
_RD_MEMBER: Final = re.compile(
    r'Member "(?P<member>[^"]+)"(?P<me> \(me\))? (?:with (?:(?P<owned>[0-9]+) owned partition\(s\) and )?(?P<topics>[0-9]+)'
    r" subscri(?:bed topic|ption)\(s\)|assigned (?P<assigned>[0-9]+) partition\(s\))"
)
_RD_ROW: Final = re.compile(r"(?:^|\s)(?P<topic>\S+) \[(?P<partition>-?[0-9]+)\]$")

_FORGETFUL: Final = ("range", "roundrobin")
"""Assignors for which it does not matter who owned what."""


@dataclass
class _Client:
    """What a member's own log tells of it.

    owned : it revokes ``gone`` of them before it gets others; heard : as the leader, member → what it has told before it assigns
    """

    fields: Json = field(default_factory=dict)
    generation: int = -1
    owned: Partitions | None = None
    gone: Partitions = field(default_factory=dict)
    heard: dict[str, Json] = field(default_factory=dict)


@dataclass
class _Group:
    """What the log tells of a group.

    generation : of the leader's assignment; assigned : member → its partitions; subscribed : member → what it told the leader
    own : the members that have logged; leading : the one that has assigned
    """

    fields: Json = field(default_factory=dict)
    generation: int = -1
    assigned: dict[str, Partitions] = field(default_factory=dict)
    subscribed: dict[str, Json] = field(default_factory=dict)
    own: dict[str, _Client] = field(default_factory=dict)
    leading: _Client = field(default_factory=_Client)


class ConsumerLogs(LineReader):
    """The groups that the lines tell of.

    group, context : of the last line with a context, which names the group
    rows : how many of a member of librdkafka follow, and where they go
    """

    mark = ("[Consumer ", "Finished assignment for group", "newly assigned", "Successfully ", " running ")

    def __init__(self) -> None:
        super().__init__()
        self.groups: defaultdict[str, _Group] = defaultdict(_Group)
        self.clients: defaultdict[str, _Client] = defaultdict(_Client)
        self.context, self.group = "", UNNAMED
        self.member, self.rows, self.assigns = "", 0, False

    def take(self, number: int, line: str) -> bool:
        """Read a line; False if it is of another form. Raises UnreadableDescription for an assignment that is cut off."""
        if context := _CONTEXT.search(line):
            self.context, self.group = context.group(), context["group"] or UNNAMED
            known = context.groupdict().items()
            self.clients[self.context].fields |= {name: value for name, value in known if value and name != "group"}
        return (
            self._java(number, line)
            or context is not None
            or self._rdkafka(line)
            or (bool(self.context) and _DATED.match(line) is not None)
        )

    def description(self) -> Description | None:
        """The groups whose members are told."""
        groups = [found for name, group in self.groups.items() if (found := self._told(name, group))]
        topics = (topic for group in groups for topic in self._withheld(group))
        return Description("consumer-logs", topics=tuple(topics), groups=tuple(groups)) if groups else None

    def _withheld(self, group: Json) -> Iterator[Json]:
        """The topics of which partitions are assigned only in a further rebalance, with their counts if there is no gap."""
        owned, before = (
            [partition for member in group["members"] for partition in partitions_in(member.get(name))]
            for name in ("owned_partitions", "previous_partitions")
        )
        for topic in sorted({topic for topic, _ in {*before} - {*owned}}):
            ids = {i for name, i in (*owned, *before) if name == topic}
            if max(ids) + 1 == len(ids):
                self.notes.append(
                    f"Topic {topic!r} has the {len(ids)} partitions that members of {group['group_id']!r} have or had."
                )
                yield {"topic_name": topic, "partitions_count": len(ids)}

    def _java(self, number: int, line: str) -> bool:
        """Read a line of Java's client; False if it is none that tells something."""
        client = self.clients[self.context]
        if match := _FINISHED.search(line):
            if match["members"] is None:
                raise UnreadableDescription("The assignment is cut off: it has no closing brace.", number)
            group, generation = self.groups[self.group], int(match["generation"] or 0)
            if generation >= group.generation:
                group.generation, group.leading, group.fields["client"] = generation, client, "java"
                group.subscribed, client.heard = client.heard, {}
                group.assigned = {
                    each["member"]: _partitions(each["partitions"]) for each in ASSIGNMENT.finditer(match["members"])
                }
        elif match := _PERFORMING.search(line):
            self.groups[self.group].fields["assignor"] = match["name"]
            found = _SUBSCRIPTION.finditer(match["members"])
            client.heard = {each["member"]: _subscribed(each["fields"], match["name"]) for each in found}
        elif match := _JOINED.search(line):
            self._joined(match, client)
        elif match := _OWN.search(line):
            _take_own(client, match)
        elif match := _SUBSCRIBED.search(line):
            client.fields["topic_names"] = sorted(match["topics"].split(", "))
        return match is not None

    def _joined(self, match: re.Match[str], client: _Client) -> None:
        member_id = match["member"] or client.fields.get("client_id", "")
        if client.fields.get("member_id") not in (None, member_id):  # of another process, or it has started again
            self.clients[self.context] = client = _Client(dict(client.fields))
        client.fields["member_id"], client.generation = member_id, int(match["generation"])
        group = self.groups[self.group]
        group.own[member_id] = client
        group.fields |= {"client": "java"} | ({"assignor": match["protocol"]} if match["protocol"] else {})

    def _rdkafka(self, line: str) -> bool:
        """Read a line of librdkafka; False if it is of another form."""
        if match := _RUNNING.search(line):
            self.group, self.rows = match["group"], 0
            self.groups[self.group] = _Group({"client": "librdkafka", "assignor": match["assignor"]}, 0)
        elif (match := _RD_MEMBER.search(line)) and self.group in self.groups:
            group, self.member, self.assigns = self.groups[self.group], match["member"], match["assigned"] is not None
            self.rows = int(match["assigned"] or match["topics"] or 0)
            group.fields |= {"leader": self.member} if match["me"] else {}
            if self.assigns:
                group.assigned[self.member] = {}
            else:
                group.subscribed[self.member] = {
                    "topic_names": [],
                    **({"previous_partitions": []} if match["owned"] == "0" else {}),
                }
        elif self.rows and (match := _RD_ROW.search(line)):
            self.rows -= 1
            if self.assigns:
                self.groups[self.group].assigned[self.member].setdefault(match["topic"], set()).add(int(match["partition"]))
            else:
                self.groups[self.group].subscribed[self.member]["topic_names"].append(match["topic"])
        else:
            return _RDKAFKA.search(line) is not None
        return True

    def _told(self, name: str, group: _Group) -> Json | None:
        """The group in the shape of the request bodies; None if nothing is assigned in the log. Notes say what is not known."""
        latest = max((client.generation for client in group.own.values()), default=-1)
        of_latest = {each: client.owned for each, client in group.own.items() if client.generation == latest}
        assigned = group.assigned or {each: owned for each, owned in of_latest.items() if owned is not None}
        if not assigned:
            return None
        if not group.assigned:
            self.notes.append(
                f"The log does not have what the leader of group {name!r} assigned (Finished assignment for group …): members "
                "whose logs are not here are not known."
            )
        elif latest > group.generation and group.fields["client"] == "java":
            self.notes.append(f"Group {name!r} is described as of generation {group.generation}, though the log has {latest}.")
        assignor = group.fields.get("assignor", "range")
        known = all("previous_partitions" in group.subscribed.get(each, {}) for each in assigned)
        if group.assigned and assignor not in _FORGETFUL and not known:
            self.notes.append(
                f"What members of group {name!r} owned before is not in the log (Java's leader logs it at DEBUG), so assign says "
                f"whether {assignor} keeps the assignment."
            )
        own = {each: client.fields for each, client in group.own.items()}
        for client in group.own.values():  # before 2.7 a member does not log its id, which begins with that of the client
            ids = [each for each in assigned if each.startswith(f"{client.fields.get('client_id')}-")]
            if client.fields["member_id"] not in assigned and len(ids) == 1:
                client.fields["member_id"], own[ids[0]] = ids[0], client.fields
        members = [
            own.get(each, {}) | group.subscribed.get(each, {}) | {"member_id": each, "owned_partitions": listed(owned)}
            for each, owned in assigned.items()
        ]
        leader = group.leading.fields.get("member_id")
        whole = {"is_leaders": True, **({"leader": leader} if leader in assigned else {})} if group.assigned else {}
        return {"group_id": name, "group_protocol": "classic", **group.fields, "members": members, **whole}


def as_logged(body: Json, group: Json) -> Json:
    """The body of an assignment that is compared with the one that the log of the group's leader has: ``expected``.

    The members then own what they owned before. Where that matters and is not known, the question is whether the assignor keeps
    the assignment.
    """
    if not group.get("is_leaders"):
        return body
    logged = {member["member_id"]: member for member in group["members"]}
    known = all("previous_partitions" in member for member in logged.values())
    if known or body.get("assignor", "range").rpartition(":")[2] in _FORGETFUL:
        before = {member_id: member.get("previous_partitions", []) for member_id, member in logged.items()}
    else:
        before = {member_id: member["owned_partitions"] for member_id, member in logged.items()}
    members = [{**each, "owned_partitions": before.get(each["member_id"], [])} for each in body["members"]]
    expected = [
        {"member_id": each["member_id"], "partitions": logged[each["member_id"]]["owned_partitions"]}
        for each in members
        if each["member_id"] in logged
    ]
    return {**body, "members": members, "expected": expected}


def _take_own(client: _Client, match: re.Match[str]) -> None:
    """What a member says of its own partitions."""
    if match["gone"] is not None:
        client.gone = _partitions(match["gone"])
        return
    owned = {} if match["whole"] is not None or client.owned is None else client.owned
    for name, ids in client.gone.items():
        owned.get(name, set()).difference_update(ids)
    for name, ids in _partitions(match["whole"] or match["added"] or "").items():
        owned.setdefault(name, set()).update(ids)
    client.owned, client.gone = owned, {}


def _subscribed(text: str, assignor: str) -> Json:
    """What a member told the leader. What it owned, it tells the assignor sticky as user data, not logged."""
    found = {name: "".join(values) for name, *values in _FIELD.findall(text)}
    known: dict[str, Any] = {"topic_names": sorted(filter(None, found["topics"].split(", ")))}
    for name, field_name in (("groupInstanceId", "instance_id"), ("rackId", "rack_id")):
        if found.get(name, "null") not in ("null", ""):
            known[field_name] = found[name]
    if found.get("generationId", "-1") != "-1":
        known["generation_id"] = int(found["generationId"])
    if "ownedPartitions" in found and (assignor != "sticky" or "userDataSize" not in found):
        known["previous_partitions"] = listed(_partitions(found["ownedPartitions"]))
    return known


def _partitions(text: str) -> Partitions:
    """``orders-0, orders-1``: topic → partition ids."""
    return by_topic((name, int(i)) for name, i in _PARTITION.findall(text.partition(" (")[0]))
