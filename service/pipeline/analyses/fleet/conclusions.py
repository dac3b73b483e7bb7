"""What ``fleet`` concludes, from its summaries."""

from collections.abc import Mapping, Sequence
from typing import Any

from service.core.printable import counted
from service.report.figures import number


def conclusion(summaries: Mapping[str, dict[str, Any]]) -> str:
    """The first sentences. summaries : of "groups" and "topics", or one of them"""
    sentences = []
    if groups := summaries.get("groups"):
        compared = [(comparison, tried_by(groups, comparison)) for comparison in groups["comparisons"]]
        sentences += [_comparison_verdict(*each) for each in compared if any(row["failed"] < row["groups"] for row in each[1])]
        failed = sum(row["failed"] for row in groups["assignors"])
        if failed or not sentences:
            ends = f"{counted(failed, 'assignment')} would fail in Kafka" if failed else "every assignment succeeds"
            sentences.append(f"{counted(groups['groups'], 'group')}: {ends}.")
    if topics := summaries.get("topics"):
        audit = topics["audit"]
        verb = "follows" if audit["obey"] == 1 else "follow"
        obey = f": {number(audit['obey'])} of {counted(audit['audited'], 'placement')} {verb} Kafka's rules"
        refused = f"; Kafka's placer refuses {number(topics['failed'])}" if topics["failed"] else ""
        sentences.append(f"{counted(topics['topics'], 'topic')}{obey if audit['audited'] else ''}{refused}.")
    wrong = sum(summary["wrong_rows"] for summary in summaries.values())
    rejected = [f"{counted(wrong, 'row was', 'rows were')} rejected and {'is' if wrong == 1 else 'are'} not counted."]
    return " ".join(sentences + rejected * (wrong > 0))


def tried_by(summary: dict[str, Any], comparison: dict[str, Any]) -> list[dict[str, Any]]:
    """The assignors of a comparison, the most even first."""
    rows = [row for row in summary["assignors"] if full_name(row) in comparison["assignors"]]
    return sorted(rows, key=lambda row: (row["over_twice"], row["skew"]["mean"] or 0, full_name(row)))


def _comparison_verdict(comparison: dict[str, Any], tried: Sequence[dict[str, Any]]) -> str:
    """Such as ``With range, 9 of 60 groups load a member with over twice the mean; with uniform, 2.``"""
    best, worst = tried[0], tried[-1]
    protocol = comparison["group_protocol"]
    thing = f"{protocol} group" if protocol else "group"
    assigned = [row["groups"] - row["failed"] for row in (worst, best)]
    if not worst["over_twice"]:
        named = f"With {short_name(worst, tried)}" if len(tried) == 1 else f"With each of the {len(tried)} assignors"
        that = " that it assigns" if any(row["failed"] for row in tried) else ""
        return f"{named}, no member of the {counted(comparison['groups'], thing)}{that} has over twice the mean."
    count = worst["over_twice"]
    verb = "loads" if count == 1 else "load"
    sentence = f"{number(count)} of {counted(assigned[0], thing)} {verb} a member with over twice the mean"
    of = f" of {number(assigned[1])}" if assigned[0] != assigned[1] else ""
    other = f"; with {short_name(best, tried)}, {number(best['over_twice'])}{of}" if best["over_twice"] < count else ""
    return f"With {short_name(worst, tried)}, {sentence}{other}."


def full_name(row: dict[str, Any]) -> str:
    """The assignor with its protocol."""
    return f"{row['group_protocol']}:{row['assignor']}"


def short_name(row: dict[str, Any], others: Sequence[dict[str, Any]]) -> str:
    """The assignor, with its protocol where it is compared with one of another."""
    alone = len({each["group_protocol"] for each in others}) == 1
    return str(row["assignor"]) if alone else full_name(row)
