"""Brokers with their racks, as several of Kafka's tools print them, or in a table of one's own.

======================================================= =================================================================
``kafka-broker-api-versions``                           ``host:9092 (id: 1 rack: a isFenced: false) -> (``, then its APIs
``kafka-configs --describe --entity-type brokers``      ``All configs for broker 1 are:``, then ``  broker.rack=a …``
``kafka-cluster list-endpoints``                        ``ID HOST PORT RACK STATE ENDPOINT_TYPE``, a row for each
a table                                                 ``1,a`` a line, perhaps under ``broker,rack``
======================================================= =================================================================
"""

import re
from typing import Final

from service.core.documents import Json
from service.descriptions.model import Description, UnreadableDescription
from service.descriptions.rows import LineReader

_ID: Final = r"(?P<id>[0-9]{1,10})"
_VERSIONS: Final = re.compile(rf"\S+:[0-9]+ \(id: {_ID} rack: (?P<rack>\S+)(?: isFenced: (?P<fenced>true|false))?\) -> .*")
_ENDPOINT: Final = re.compile(
    rf"{_ID}\s+\S+\s+[0-9]+\s+(?:(?!(?:un)?fenced\s)(?P<rack>\S+)\s+)?(?:(?P<fenced>fenced|unfenced)\s+)?broker"
)
_CONFIGS: Final = re.compile(rf"(?:All|Dynamic) configs for broker {_ID} are:")
_RACK: Final = re.compile(r"\s+broker\.rack=(?P<rack>\S*) sensitive=.*")
_DETAIL: Final = re.compile(
    r"\s+[A-Za-z]+\([0-9]+\): .*|\)|\s+[a-z0-9.-]+=.* sensitive=(?:true|false) .*|ID\s+HOST\s+PORT\s+RACK\s.*"
    r"|[0-9]+\s+\S+\s+[0-9]+\s.*\bcontroller|Default configs for brokers in the cluster are:"
)
"""Lines of these tools that tell nothing of racks."""

_TABLE_HEADER: Final = re.compile(r"broker(?:_?id)?\s*[,;\t]\s*rack(?:_?id)?\s*", re.IGNORECASE)
_TABLE_ROW: Final = re.compile(rf"\s*{_ID}\s*[,;:\t]\s*(?P<rack>\S.*)")
_BARE_ROW: Final = re.compile(rf"\s*{_ID}(?:\s*[,;\t]\s*|:)(?P<rack>[\w-]*[A-Za-z][\w-]*)\s*")
"""Without a header a rack is one word with a letter: numbers are sizes, and words with dots hosts."""
_TWO_CELLS: Final = re.compile(r"[^,;\t]+[,;\t][^,;\t]+")
_NO_RACK: Final = ("", "null")


class BrokersText(LineReader):
    """The brokers that the lines describe."""

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
