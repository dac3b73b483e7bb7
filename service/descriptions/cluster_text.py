"""What Kafka's tools print of topics, brokers with their racks, and the offsets of logs."""

import re
from itertools import zip_longest
from typing import Final

from service.core.documents import Json
from service.descriptions.model import END, START, Description, LineReader, TopicRows, UnreadableDescription, brokers_of, ids_in

_TOPIC: Final = re.compile(
    r"\s*Topic: ?(?P<name>\S+)\s+(?:TopicId: ?(?P<id>\S+)\s+)?PartitionCount: ?(?P<count>[0-9]{1,10})\s+"
    r"ReplicationFactor: ?[0-9]{1,10}(?:\s+(?:Configs: ?(?P<configs>.*)|\w+: ?.*))?",
    re.IGNORECASE,
)
_MIN_IN_SYNC: Final = re.compile(r"(?:^|,)min\.insync\.replicas=(?P<count>[0-9]{1,5})(?:,|\s|$)")
_ID: Final = r"[0-9]{1,10}"
_IDS: Final = rf"(?:{_ID}(?:, ?{_ID})*)?"
_PARTITION: Final = re.compile(
    rf"\s*Topic: ?(?P<name>\S+)\s+Partition: ?(?P<id>{_ID})\s+Leader: ?(?P<leader>-?{_ID}|none)\s+Replicas: ?(?P<replicas>{_IDS})"
    rf"\s+Isr: ?(?P<isr>{_IDS})(?P<more>(?:\s+[A-Za-z][\w -]*:.*)?)\s*",
    re.IGNORECASE,
)
_CHANGING: Final = re.compile(rf"(Adding|Removing) Replicas: ?(?P<ids>{_IDS})(?=\s|$)", re.IGNORECASE)


class TopicsText(LineReader):
    """The topics that the lines describe.

    counts : of the topics that have a line of their own; first_lines : the line on which each begins

    The output of ``kafka-topics --describe``: a line for each topic, and a line with a tab before it for each of its partitions.

    The fields are those of TopicCommand in Kafka 0.8 to 4.4: the first releases print lower-case names, older ones no space after
    the colons, no ``TopicId`` and no ``Elr``. Fields behind ``Isr`` that are not known, such as those of other vendors' servers,
    are left out. While a partition is being reassigned, its placement is the one it is going to have: without ``Removing
    Replicas``.
    """

    def __init__(self) -> None:
        super().__init__()
        self.topics: dict[str, Json] = {}
        self.counts: dict[str, int] = {}
        self.first_lines: dict[str, int] = {}

    def take(self, number: int, line: str) -> bool:
        """Read a line; False if it is of another form, or cut off. Raises UnreadableDescription for one that does not follow."""
        if "opic:" not in line:
            return False
        if match := _TOPIC.fullmatch(line):
            self._add_topic(match, number)
        elif match := _PARTITION.fullmatch(line):
            self._add_partition(match, number)
        else:
            return False
        return True

    def check_foreign(self, number: int, line: str) -> None:
        """Raise UnreadableDescription for a line that is cut off."""
        if line.lstrip().startswith(("Topic:", "topic:")):
            raise UnreadableDescription("Not a line of kafka-topics --describe.", number)

    def description(self) -> Description | None:
        """The topics, those with a line of their own with all their partitions. Raises UnreadableDescription."""
        without = [name for name in self.topics if name not in self.counts]
        for name, topic in self.topics.items():
            count, described = self.counts.get(name), len(topic["placements"])
            if count is not None and count != described:
                detail = f"The PartitionCount of topic {name!r} is {count}, but there are lines for {described} of them."
                raise UnreadableDescription(detail, self.first_lines[name])
            topic["placements"] = [topic["placements"][i] for i in sorted(topic["placements"])]
        if without:
            more = f" and {len(without) - 1} more" if len(without) > 1 else ""
            self.notes.append(
                f"Topic {without[0]!r}{more} has no line with its PartitionCount: further partitions are not known."
            )
        topics = tuple(self.topics.values())
        return Description("kafka-topics", brokers_of(topics), topics) if topics else None

    def _add_topic(self, match: re.Match[str], number: int) -> None:
        """Begin a topic. Of one that is described again, as in the output of a loop, the last description counts."""
        name = match["name"]
        topic: Json = {"topic_name": name, "partitions_count": int(match["count"]), "placements": {}}
        if match["id"]:
            topic["topic_id"] = match["id"]
        if least := _MIN_IN_SYNC.search(match["configs"] or ""):
            topic["min_insync_replicas"] = int(least["count"])
        if name in self.counts and len(self.topics[name]["placements"]) == self.counts[name]:
            self.notes.append(f"Topic {name!r} is described more than once; the last counts.")
        elif name in self.counts:
            raise UnreadableDescription(f"Duplicate topic {name!r}.", number)
        elif name in self.topics:  # below its partitions, as sort leaves it
            topic["placements"] = self.topics[name]["placements"]
        self.topics[name], self.counts[name], self.first_lines[name] = topic, topic["partitions_count"], number

    def _add_partition(self, match: re.Match[str], number: int) -> None:
        """Add the partition of this line to its topic, with who leads it now."""
        name, partition_id = match["name"], int(match["id"])
        topic = self.topics.setdefault(name, {"topic_name": name, "placements": {}})
        if name in self.counts and partition_id >= self.counts[name]:
            detail = f"Partition {partition_id} of topic {name!r}, whose PartitionCount is {self.counts[name]}."
            raise UnreadableDescription(detail, number)
        changing = {found[1].lower(): ids_in(found["ids"]) for found in _CHANGING.finditer(match["more"])}
        removing = changing.get("removing", [])
        placement = {
            "partition_id": partition_id,
            "replicas": [broker for broker in ids_in(match["replicas"]) if broker not in removing],
            "in_sync_replicas": ids_in(match["isr"]),
            "leader": int(match["leader"]) if match["leader"].isdecimal() else None,
            **{f"{kind}_replicas": ids for kind, ids in changing.items() if ids},
        }
        if topic["placements"].setdefault(partition_id, placement) != placement:
            raise UnreadableDescription(f"Partition {partition_id} of topic {name!r} has two different lines.", number)


_BROKER: Final = r"(?P<id>[0-9]{1,10})"
_VERSIONS: Final = re.compile(rf"\S+:[0-9]+ \(id: {_BROKER} rack: (?P<rack>\S+)(?: isFenced: (?P<fenced>true|false))?\) -> .*")
_ENDPOINT: Final = re.compile(
    rf"{_BROKER}\s+\S+\s+[0-9]+\s+(?:(?!(?:un)?fenced\s)(?P<rack>\S+)\s+)?(?:(?P<fenced>fenced|unfenced)\s+)?broker"
)
_CONFIGS: Final = re.compile(rf"(?:All|Dynamic) configs for broker {_BROKER} are:")
_RACK: Final = re.compile(r"\s+broker\.rack=(?P<rack>\S*) sensitive=.*")
_DETAIL: Final = re.compile(
    r"\s+[A-Za-z]+\([0-9]+\): .*|\)|\s+[a-z0-9.-]+=.* sensitive=(?:true|false) .*|ID\s+HOST\s+PORT\s+RACK\s.*"
    r"|[0-9]+\s+\S+\s+[0-9]+\s.*\bcontroller|Default configs for brokers in the cluster are:"
)
"""Lines of these tools that tell nothing of racks."""

_TABLE_HEADER: Final = re.compile(r"broker(?:_?id)?\s*[,;\t]\s*rack(?:_?id)?\s*", re.IGNORECASE)
_TABLE_ROW: Final = re.compile(rf"\s*{_BROKER}\s*[,;:\t]\s*(?P<rack>\S.*)")
_BARE_ROW: Final = re.compile(rf"\s*{_BROKER}(?:\s*[,;\t]\s*|:)(?P<rack>[\w-]*[A-Za-z][\w-]*)\s*")
"""Without a header a rack is one word with a letter: numbers are sizes, and words with dots hosts."""
_TWO_CELLS: Final = re.compile(r"[^,;\t]+[,;\t][^,;\t]+")
_NO_RACK: Final = ("", "null")


class BrokersText(LineReader):
    """The brokers that the lines describe.

    Brokers with their racks, as several of Kafka's tools print them, or in a table of one's own.

    ======================================================= =================================================================
    ``kafka-broker-api-versions``                           ``host:9092 (id: 1 rack: a isFenced: false) -> (``, then its APIs
    ``kafka-configs --describe --entity-type brokers``      ``All configs for broker 1 are:``, then ``  broker.rack=a …``
    ``kafka-cluster list-endpoints``                        ``ID HOST PORT RACK STATE ENDPOINT_TYPE``, a row for each
    a table                                                 ``1,a`` a line, perhaps under ``broker,rack``
    ======================================================= =================================================================
    """

    def __init__(self) -> None:
        super().__init__()
        self.brokers: dict[int, Json] = {}
        self.configured: Json = {}
        self.headed = False

    def take(self, _: int, line: str) -> bool:
        """Read a line; False if it is of another form."""
        if match := _VERSIONS.fullmatch(line) or _ENDPOINT.fullmatch(line):
            self._add(self._broker(match["id"]), match["rack"], match["fenced"])
        elif match := _CONFIGS.fullmatch(line):
            self.configured = self._broker(match["id"])
        elif match := _RACK.fullmatch(line):
            self._add(self.configured, match["rack"], None)
        elif _TABLE_HEADER.fullmatch(line):
            self.headed = True
        elif self.headed and (match := _TABLE_ROW.fullmatch(line)):
            self._add(self._broker(match["id"]), match["rack"], None)
        else:
            self.headed = False
            return _DETAIL.fullmatch(line) is not None
        return True

    def description(self) -> Description | None:
        """The brokers."""
        brokers = tuple(self.brokers[broker_id] for broker_id in sorted(self.brokers))
        return Description("brokers", brokers) if brokers else None

    def _broker(self, broker_id: str) -> Json:
        return self.brokers.setdefault(int(broker_id), {"broker_id": int(broker_id)})

    @staticmethod
    def _add(broker: Json, rack: str | None, fenced: str | None) -> None:
        if rack is not None and rack not in _NO_RACK:
            broker["rack_id"] = rack
        if fenced is not None:
            broker["fenced"] = fenced in ("true", "fenced")


def read_rack_table(text: str) -> Description | None:
    """The brokers of a table of racks; None if the text is something else, or more. Raises UnreadableDescription."""
    lines = ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())
    brokers: dict[int, Json] = {}
    headed = False
    for number, line in lines:
        if match := (_TABLE_ROW if headed else _BARE_ROW).fullmatch(line):
            if int(match["id"]) in brokers:
                raise UnreadableDescription(f"Duplicate broker {match['id']}.", number)
            brokers[int(match["id"])] = {"broker_id": int(match["id"]), "rack_id": match["rack"].strip()}
        elif not brokers and not headed and _TABLE_HEADER.fullmatch(line):
            headed = True
        elif headed and _TWO_CELLS.fullmatch(line):
            raise UnreadableDescription("Not a broker and its rack, such as 1,a.", number)
        else:
            return None
    return Description("brokers", tuple(brokers.values())) if brokers else None


_ROW: Final = re.compile(r"\s*(?P<topic>(?![0-9]+:)[A-Za-z0-9._-]{1,249}):(?P<partition>[0-9]{1,7}):(?P<offset>[0-9]{0,18})\s*")
_COMMAND: Final = re.compile(r".*(?:kafka-get-offsets|GetOffsetShell)(?P<options>.*)")
_TIME: Final = re.compile(r"--time[ =](\S+)")
MOST_SKEWS: Final = 3
_TIMES: Final = {None: END, "-1": END, "latest": END, "-2": START, "earliest": START}


class OffsetsText(LineReader):
    """The topics that the lines describe. time : the ``--time`` of the last command line

    The output of ``kafka-get-offsets`` (``GetOffsetShell``): ``topic:partition:offset`` a line.

    It does not say which ``--time`` was asked for. Without a command line in the text, offsets are the ends of the logs, and
    where a partition has two, the smaller one is its start.
    """

    mark = (":",)

    def __init__(self) -> None:
        super().__init__()
        self.rows = TopicRows()
        self.time: str | None = None

    def take(self, _: int, line: str) -> bool:
        """Read a line; False if it is of another form."""
        if match := _COMMAND.fullmatch(line):
            asked = _TIME.search(match["options"])
            self.time = asked[1] if asked else "-1"
            return True
        match = _ROW.fullmatch(line)
        if match is None:
            return False
        topic, partition, known = match["topic"], int(match["partition"]), {}
        if match["offset"] and self.time in _TIMES:
            known = {_TIMES[self.time]: int(match["offset"])}
            before = self.rows.rows.get(topic, {}).get(partition, {}).get(END)
            if self.time is None and before is not None:
                known = dict(zip((START, END), sorted((before, known[END])), strict=True))
        self.rows.add(topic, partition, **known)
        return True

    def description(self) -> Description | None:
        """The topics with the partitions that are listed. Notes say what was assumed."""
        description = self.rows.description("kafka-get-offsets", complete=True)
        if description is not None:
            self.notes += _skews(description)
            self.notes.append("The partition counts are those of the partitions that kafka-get-offsets lists.")
            gaps = [topic["topic_name"] for topic in description.topics if "partitions_count" not in topic]
            if gaps:
                self.notes.append(f"Not all partitions of topic {gaps[0]!r} are listed, so its partition count is not known.")
            if self.time not in _TIMES:
                self.notes.append(f"The offsets of --time {self.time} are neither starts nor ends of the logs, and not used.")
        return description


def _skews(description: Description) -> list[str]:
    """Which partition has the most records, by offsets, of the most uneven topics without Kafka's own."""
    found = []
    for topic in description.topics:
        starts, ends = topic.get(START) or [], topic.get(END) or []
        counts = [
            end - (start or 0) for start, end in zip_longest(starts, ends[: topic.get("partitions_count", 0)]) if end is not None
        ]
        if (
            len(counts) == topic.get("partitions_count")
            and max(counts) > min(counts)
            and not topic["topic_name"].startswith("__")
        ):
            most, total = max(counts), sum(counts)
            sentence = (
                f"By offsets, partition {counts.index(most)} of topic {topic['topic_name']!r} has the most: {most} of {total} "
                f"records, {most * len(counts) / total:.4g} times the mean."
            )
            found.append((-most * len(counts) / total, sentence))
    return [sentence for _, sentence in sorted(found)[:MOST_SKEWS]]
