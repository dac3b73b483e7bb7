"""What stands before each line of a text that was passed on, which is dropped: numbers, times, hosts, marks of quotes and tables.

===================================================== ==============================================
``docker logs -t``, ``[2026-03-03 19:31:50,804] INFO`` a time, in brackets or not, perhaps a level
``kubectl logs --prefix``, ``docker compose logs``    ``[pod/kafka-0/kafka]``, ``kafka-1  |``
``dsh -M``, ``pssh -i``                               ``host-1:``
``cat -n``, ``grep -n``                               ``12`` and a tab, ``12:``
a mail, Markdown, a ConfigMap, a diff                 ``>``, spaces, ``|``, ``+``
===================================================== ==============================================

The prefix is what stands before the words with which the tools' lines begin (ANCHOR). It is the same on all of them but for its
digits. A Markdown table has a cell between each two bars.
"""

import re
from collections import Counter
from typing import Final

from service.descriptions.documents import BEGIN

ANCHOR: Final = re.compile(
    r"(?P<head>[Tt]opic: ?\S+\s.*?PartitionCount: ?[0-9]"
    r"|(?:GROUP|TOPIC|CONSUMER-ID|COORDINATOR \(ID\)),?\s+[#A-Z(][A-Z#() ,-]{3,}"
    r"|\S+:[0-9]+ \(id: [0-9]+ rack: |Metadata for |(?:Consumer|Share|Streams) group '"
    r'|\{"(?:version|snapshot_version|brokers|topics|groups|partitions|KafkaPartitionState)":)'
    r"|[Tt]opic: ?\S+\s+[Pp]artition: ?[0-9]"
)
"""How lines of Kafka's tools begin; ``head``: but those that Kafka's own tool indents."""

MOST_CHARACTERS: Final = 500
"""Characters of a line within which its anchor begins."""

MOST_LINES: Final = 50_000
"""Lines in which anchors are sought."""

_ROW: Final = re.compile(r"\s*\|.*\|\s*")
_RULE: Final = re.compile(r"[\s|:+-]+")
_BLANKS: Final = re.compile("[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
_NOTHING: Final = re.compile("[\u200b\u200c\u200d\u2060]")


def without_prefix(text: str) -> tuple[str, list[str]]:
    """The text without what stands before each line, and sentences about what was dropped. It has as many lines as before."""
    text, notes = _NOTHING.sub("", _BLANKS.sub(" ", text)), list[str]()
    if BEGIN.match(text.lstrip().split("\n", 1)[0][:MOST_CHARACTERS]):
        return text, notes
    if "|" in text and (cells := _without_bars(text)) is not None:
        text = cells
    dropped = text
    for _ in range(3):  # a time within a quote within a diff
        found = _prefix(dropped)
        if found is None:
            break
        pattern, shown = found
        lines = [(line, pattern.match(line)) for line in dropped.split("\n")]
        dropped = "\n".join(line[match.end() :] if match else line for line, match in lines)
        if shown.strip():
            notes.append(f"Before each line, {shown.strip()!r} or the like was dropped.")
    return dropped, notes


def _prefix(text: str) -> tuple[re.Pattern[str], str] | None:
    """What matches the prefix of the lines, and one such prefix; None if there is none."""
    found = [match for line in text.split("\n", MOST_LINES)[:MOST_LINES] if (match := ANCHOR.search(line[:MOST_CHARACTERS]))]
    heads = [match for match in found if match["head"]]
    # Kafka's tool indents the lines of partitions by a tab.
    prefixes = [match.string[: match.start()] for match in heads] or [match.string[: match.start()].rstrip() for match in found]
    shapes = Counter(map(_shape, prefixes))
    if not shapes or (shape := shapes.most_common(1)[0][0]) == "":
        return None
    shown = next(prefix for prefix in prefixes if _shape(prefix) == shape)
    if shape in ("+", "-") and {"+", "-"} <= shapes.keys():  # of a diff, what is there now
        return re.compile(r"\+ ?|-.*|@@.*"), "+"
    return re.compile(_pattern(shown)), shown


def _shape(prefix: str) -> str:
    """A prefix, with one digit for each number and one space for each blank."""
    return re.sub(r"\s+", " ", re.sub(r"[0-9]+", "0", prefix))


def _pattern(prefix: str) -> str:
    """A pattern of prefixes with other numbers, and another indent where numbers are of other lengths."""
    trailing = len(prefix) - len(prefix.rstrip())
    parts = re.findall(r"[0-9]+|\s+|[^0-9\s]+", prefix[: len(prefix) - trailing])
    body = "".join("[0-9]+" if part.isdecimal() else r"[ \t]*" if part.isspace() else re.escape(part) for part in parts)
    return f"{body}[ \\t]{{0,{trailing}}}"


def _without_bars(text: str) -> str | None:
    """A text with a Markdown table whose header is Kafka's, with its cells apart by blanks; None for any other."""
    lines = text.split("\n")
    rows = [i for i, line in enumerate(lines) if _ROW.fullmatch(line)]
    if len(rows) < 2 or not any(ANCHOR.search(_apart(lines[i])[:MOST_CHARACTERS]) for i in rows):
        return None
    for i in rows:
        lines[i] = "" if _RULE.fullmatch(lines[i]) else _apart(lines[i])
    return "\n".join(lines)


def _apart(row: str) -> str:
    return "  ".join(cell.strip() or "-" for cell in row.strip().removeprefix("|").removesuffix("|").split("|"))
