"""What ``mismatch`` concludes, from its summary."""

from typing import Any, Final

from service.core.printable import counted, share
from service.planner.attribution.fingerprints import MOSTLY

SHOWN: Final = 3
"""Partitioners that are named for each writer; the others are counted."""


def conclusion(summary: dict[str, Any]) -> str:
    """Such as ``Written by: 99.9% java … (99.8% to 99.9%), 0.10% librdkafka:consistent … (0.07% to 0.15%).``"""
    if summary["verdict"] == "none":
        return "No record has a key."
    if summary["verdict"] == "undecided":
        if summary["partitions_count"] == 1:
            return "With one partition, where records are does not tell who wrote them."
        pairs = sum(summary["different_pairs"].values())
        return f"Too few different pairs of key and partition ({pairs:,}) to tell who wrote the records."
    if summary["verdict"] == "unexplained":
        reasons = "for example, because a serializer changed the keys' bytes: the command fingerprint tries the usual ones"
        return f"No partitioner explains the records at this partition count, {reasons}."
    parts = [f"{share(part['share'])} {writer_of(summary, part)} ({interval(part)})" for part in summary["mixture"]]
    if summary["chance_share"] > 0.0005:
        unexplained = f"{share(summary['chance_share'])} explained by no partitioner"
        parts.insert(0 if summary["chance_share"] > MOSTLY else len(parts), unexplained)
    earlier = sorted({part["partitions_count"] for part in summary["mixture"]} - {summary["partitions_count"]})
    counts = " to ".join(map(str, (*earlier, summary["partitions_count"])))
    keyed = counted(summary["records"] - summary["keyless"], "record")
    of = f"Of {keyed} with a key ({summary['keyless']:,} have none): " if summary["keyless"] else "Written by: "
    return f"{of}{', '.join(parts)}{f'; the topic probably grew from {counts} partitions' if earlier else ''}."


def writer_of(summary: dict[str, Any], part: dict[str, Any]) -> str:
    """A part of the mixture, with its partition count if the topic had another one before it grew."""
    count = part["partitions_count"]
    return named(part["partitioners"]) + (f" with {counted(count, 'partition')}" if count != summary["partitions_count"] else "")


def interval(part: dict[str, Any]) -> str:
    """The 95% interval of a share."""
    return f"{share(part['share_low'])} to {share(part['share_high'])}"


def named(partitioners: list[str]) -> str:
    """The first of a writer's partitioners, which no key can tell apart."""
    more = len(partitioners) - SHOWN
    return " / ".join(partitioners[:SHOWN]) + (f" / {more} more" if more > 0 else "")
