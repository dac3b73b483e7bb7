"""What ``fleet`` finds in each of its two tables, and both together."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from service.core.printable import counted
from service.pipeline.analyses.fleet import report
from service.pipeline.analyses.fleet import summary as fleet_summary
from service.pipeline.analyses.fleet.conclusions import conclusion
from service.pipeline.analyses.outcome import Outcome
from service.pipeline.files.errors import WrongTable
from service.report.figures import number
from service.report.pages import Report, Section

ASSIGNMENTS: Final = "assignments.parquet"
PLACEMENTS: Final = "placements.parquet"

BROKERS: Final = ({"broker_id": pa.int32()}, {"rack_id": pa.string(), "fenced": pa.bool_()})
"""The columns of a table of brokers that are required, and those that are not."""

MOST_BROKERS: Final = 100_000


@dataclass(frozen=True)
class TableOutcome:
    """What one of the two tables contributes to the outcome."""

    summary: dict[str, Any]
    sections: list[Section]
    headline: dict[str, str]


def of_groups(results: pa.Table) -> TableOutcome:
    """The groups' part. results : the rows of ``assignments.parquet``, ``summary.GROUP_COLUMNS``"""
    summary, curves = fleet_summary.of_groups(results)
    headline = {
        "groups": f"{number(summary['groups'])} with {counted(summary['partitions'], 'partition')}",
        "assignments that fail, as in Kafka": number(sum(row["failed"] for row in summary["assignors"])),
        "rejected rows": number(summary["wrong_rows"]),
    }
    return TableOutcome(summary, report.group_sections(summary, fleet_summary.QUANTILES, curves), headline)


def of_topics(results: pa.Table) -> TableOutcome:
    """The topics' part. results : the rows of ``placements.parquet``, ``summary.TOPIC_COLUMNS``"""
    summary = fleet_summary.of_topics(results)
    audit = summary["audit"]
    headline = {
        "topics": f"{number(summary['topics'])} with {counted(summary['partitions'], 'partition')}",
        "topics that follow Kafka's placement rules": f"{number(audit['obey'])} of {number(audit['audited'])} audited",
        "replicas to copy": number(audit["copies"]),
        "leaders to change": number(audit["leader_changes"]),
    }
    return TableOutcome(summary, report.topic_sections(summary), headline)


def fleet(parts: Mapping[str, TableOutcome], tables: Mapping[str, Any], subtitle: str) -> Outcome:
    """The outcome. parts : of "groups" and "topics", or one of them"""
    summaries = {name: part.summary for name, part in parts.items()}
    sections = tuple(section for part in parts.values() for section in part.sections)
    said = conclusion(summaries)
    return Outcome(
        summary={"job": "fleet", "conclusion": said, **summaries},
        tables=tables,
        report=Report("Fleet", subtitle, sections, said),
        headline={name: text for part in parts.values() for name, text in part.headline.items()},
    )


def cluster_of(brokers: pa.Table, name: str) -> list[dict[str, Any]]:
    """The cluster for ``placements.place_topics``. brokers : the columns BROKERS; name : of the table. Raises WrongTable."""
    ids = brokers["broker_id"]
    if not 0 < len(brokers) <= MOST_BROKERS or ids.null_count:
        raise WrongTable(f"{name}: There must be 1 to {MOST_BROKERS:,} brokers, each with a broker_id.")
    if len(ids.unique()) < len(ids):
        raise WrongTable(f"{name}: Duplicate broker_id.")
    return [{"rack_id": None, "fenced": None, **row} for row in brokers.to_pylist()]
