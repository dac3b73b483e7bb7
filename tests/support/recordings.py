"""The recorded runs of ``tests/vectors/histories`` (``record_histories``), and what is true of them.

What the script did is the truth of causes, what the consumers' listeners were told that of standstill. Which rebalances a source
can show is read here by a few patterns that share nothing with ``service``, but for the bytes of records.
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final

from service.wire.coordinator_records import read_group_record
from service.wire.errors import Unreadable

FOLDER: Final = Path(__file__).parents[1] / "vectors" / "histories"
RUNS: Final = sorted(path.name for path in FOLDER.iterdir())

_STAMP: Final = r"^\[(?P<at>[\d-]+ [\d:]+,\d+)\] \w+ "
POLL_MS: Final = 100
"""What a consumer is told it does when its poll is over, which takes so long."""

Numbers = dict[int, int]
"""Generation or epoch → a time, in ms since 1970."""


def texts(run: str) -> dict[str, str]:
    """The files of a run but its truth, by name."""
    found = {path.name.removesuffix(".gz"): path for path in sorted((FOLDER / run).iterdir()) if path.name != "truth.json"}
    return {
        name: gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
        for name, path in found.items()
    }


@dataclass(frozen=True)
class Group:
    """A group of a run.

    known : its protocol, assignor and members; events : what the script did, of this group or to the cluster
    told : what its listeners were told: when, whose, what, which partitions
    """

    run: str
    group_id: str
    known: dict[str, Any]
    events: list[dict[str, Any]]
    told: list[tuple[int, str, str, list[str]]]

    @cached_property
    def sources(self) -> dict[str, str]:
        """The texts of its brokers, of its records, of its clients and of snapshots, by name."""
        return {
            name: text
            for name, text in texts(self.run).items()
            if kind_of(name) != "clients" or name.removesuffix(".log") in self.known["members"]
        }

    @cached_property
    def began(self) -> Numbers:
        """When the coordinator asked the members to rejoin, or raised the epoch."""
        group = re.escape(self.group_id)
        return self._of_brokers(
            rf"Preparing to rebalance group {group} .*old generation (?P<old>\d+)"
            rf"|\[GroupId {group}\] Bumped group epoch to (?P<epoch>\d+)"
        )

    @cached_property
    def ended(self) -> Numbers:
        """When the leader's assignment arrived, or the target was computed."""
        group = re.escape(self.group_id)
        pattern = (
            rf"Assignment received from leader.* for group {group} for generation (?P<number>\d+)"
            rf"|\[GroupId {group}\] Computed a new target assignment for epoch (?P<epoch>\d+)"
        )
        return self._of_brokers(pattern)

    def _of_brokers(self, pattern: str) -> Numbers:
        found: Numbers = {}
        for text in (text for name, text in self.sources.items() if kind_of(name) == "broker"):
            for match in re.finditer(_STAMP + ".*(?:" + pattern + ")", text, re.MULTILINE):
                words = match.groupdict()
                number = int(words["old"]) + 1 if words.get("old") else int(words.get("number") or words["epoch"])
                at = datetime.strptime(words["at"] + "000Z", "%Y-%m-%d %H:%M:%S,%f%z")
                found.setdefault(number, round(at.timestamp() * 1000))
        return found

    def names(self, member: str) -> set[str]:
        """What a member of the script may be called."""
        return {member, *self.known["members"][member]["member_ids"]}

    def standstill(self, number: int) -> int:
        """For how long, in ms, from the first partition without a reader to the last that has one again by this rebalance.

        A partition whose reader was away without a rebalance, whose group had no members in between, or whose topic was deleted,
        does not count.
        """
        of = [
            (lost, back)
            for lost, back, _ in self.gaps
            if number == max((each for each, at in self.ended.items() if lost <= at <= back), default=0)
            and not any(lost <= at <= back for at in self._emptied)
        ]
        return max(back for _, back in of) - min(lost for lost, _ in of) if of else 0

    @cached_property
    def _emptied(self) -> list[int]:
        pattern = rf"Group {re.escape(self.group_id)} with generation (?P<number>\d+).* is now empty"
        return list(self._of_brokers(pattern).values())

    @cached_property
    def gaps(self) -> list[tuple[int, int, str]]:
        """From when to when a partition had no reader, since its first."""
        changes: list[tuple[int, str, str, list[str]]] = list(self.told)
        lost = {"member_is_killed": "dies", "member_stalls": "stalls"}
        gone = [(at_ms(event), event["member"], lost[event["event"]]) for event in self.events if event["event"] in lost]
        changes += [(at + (POLL_MS if what == "stalls" else 0), member, what, []) for at, member, what in gone]
        changes += [
            (at_ms(event), "", "deleted", [event["topic_name"]]) for event in self.events if event["event"] == "topic_deleted"
        ]
        owner: dict[str, str] = {}
        since: dict[str, int] = {}
        found = []
        for at, member, what, partitions in sorted(changes, key=lambda change: change[0]):
            if what == "assigned":
                found += [(since.pop(one), at, one) for one in partitions if one in since]
                owner |= dict.fromkeys(partitions, member)
            elif what == "deleted":
                owner = {one: by for one, by in owner.items() if one.rpartition("-")[0] not in partitions}
                since = {one: when for one, when in since.items() if one.rpartition("-")[0] not in partitions}
            else:
                for one in [one for one, by in owner.items() if by == member] if what in lost.values() else partitions:
                    if owner.get(one) == member:
                        since.setdefault(one, at)
                        if what != "stalls":
                            del owner[one]
        return found


def at_ms(event: dict[str, Any]) -> int:
    """When the script did it."""
    return round(datetime.fromisoformat(event["at"]).timestamp() * 1000)


def kind_of(name: str) -> str:
    """What a source is: ``broker``, ``records``, ``formatted``, ``scala``, ``snapshots``, ``topics`` or ``clients``."""
    first = re.split(r"[-.]", name)[0]
    return first if first in ("broker", "records", "formatted", "scala", "snapshots", "topics") else "clients"


def shown(group_id: str, sources: dict[str, str]) -> set[int]:
    """The rebalances that these sources show: the generations that all members joined, and the epochs."""
    group = re.escape(group_id)
    patterns = {
        "broker": (rf"Stabilized group {group} generation (\d+)", rf"\[GroupId {group}\] Bumped group epoch to (\d+)"),
        "clients": (
            rf"groupId={group}\] Successfully joined group with generation Generation\{{generationId=(\d+)",
            r"JoinGroup response: GenerationId (\d+)",
        ),
        "formatted": (rf'"group":"{group}"\}}\}},"value":[^\[]*"generation":(\d+)[^\[]*"members":\[\{{',),
        "scala": (rf"(?m)^{group}::GroupMetadata\(groupId=[^,]*, generation=(\d+), .*members=\w+\(.+ -> ",),
        "records": (),
        **dict.fromkeys(("snapshots", "topics"), ()),
    }
    found = set()
    for name, text in sources.items():
        kind = kind_of(name)
        found |= {int(number) for pattern in patterns[kind] for number in re.findall(pattern, text)}
        found |= _recorded(group_id, text) if kind == "records" else set()
    return found


def _recorded(group_id: str, text: str) -> set[int]:
    found = set()
    for record in _records(group_id, text):
        value = record["value"] or {}
        if record["record_type"] == 2 and value.get("members"):
            found.add(value["generation"])
        elif record["record_type"] == 3 and value:
            found.add(value["epoch"])
    return found


@lru_cache(100)
def _records(group_id: str, text: str) -> list[dict[str, Any]]:
    """They are asked for again and again, in part while tests are collected: all that are recorded take half a second to read."""
    found = []
    for line in text.splitlines():
        words = line.split("\t")
        if len(words) < 5 or not words[0].startswith("CreateTime:"):
            continue
        try:
            record = read_group_record(_bytes(words[3]), None if words[4] == "null" else _bytes(words[4]))
        except Unreadable:  # a line that is cut
            continue
        if record.key.get("group", record.key.get("groupId")) == group_id:
            at = int(words[0].removeprefix("CreateTime:"))
            found.append({"record_type": record.type, "timestamp": at, "key": record.key, "value": record.value})
    return found


def decoded(group: Group) -> list[dict[str, Any]]:
    """Its records, in their order, as the pipeline writes them."""
    return _records(group.group_id, group.sources.get("records.txt", ""))


def groups(run: str) -> list[Group]:
    """The groups of a run."""
    truth = json.loads((FOLDER / run / "truth.json").read_text())
    return [
        Group(
            run,
            group_id,
            known,
            [event for event in truth["events"] if event.get("group_id") in (None, group_id)],
            [(at, member, what, partitions) for at, of, member, what, partitions in truth["listeners"] if of == group_id],
        )
        for group_id, known in truth["groups"].items()
    ]


def _bytes(text: str) -> bytes:
    """The bytes that BytesDeserializer has written so."""
    return re.sub(r"\\x([0-9A-F]{2})", lambda match: chr(int(match[1], 16)), text).encode("latin-1")
