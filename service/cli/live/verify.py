"""``verify``: is a cluster assigned and placed as Kafka would?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from xml.etree.ElementTree import Element, SubElement, tostring

import click

from service import parameters
from service.cli import GroupedCommand, note
from service.cli.live.snapshot import CLUSTER, cluster_client, extent_of, read_snapshot
from service.cli.terminal import Console, table
from service.core.printable import counted, first_few, printable
from service.http.json.codec import dumps
from service.live.findings import Finding, Verdict, conclusion
from service.live.verification import check_groups, check_topics, missing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from service.live.client import ClusterClient

DIFFERS, NOT_FOUND = 1, 3
"""Exit statuses. 2 is for invalid input, and for a cluster that cannot be reached."""
MOST_NAMES = 5
"""Names that a line about what is not known has."""
_UNVERIFIED = (
    "kafka_version",
    "brokers[].used_bytes",
    "brokers[].cordoned",
    "topics[].partition_bytes",
    "groups[].generation_id",
)
"""What no verdict depends on."""
OF_KEYS: Final[dict[str, Verdict]] = {"undecided": "not_checked", "unexplained": "differs"}
"""What verdicts of a fingerprint come to; all others are alike: partitioners explain the sample."""
MARKS = {"alike": "✓ alike", "differs": "✗ differs", "not_checked": "– not checked"}


@click.command(cls=GroupedCommand)
@click.option("--snapshot", "file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Snapshot to verify.")
@CLUSTER
@click.option(
    "--sample-keys",
    "keys_count",
    type=click.IntRange(1, 1_000_000),
    help="Number of records to read from each topic (live only).",
)
@parameters.output("table", "json", "junit")
def verify(
    *, file: Path | None, bootstrap_server: str | None, command_config: Path | None, topic_names: tuple[str, ...],
    group_ids: tuple[str, ...], with_offsets_topic: bool, time_limit: float, keys_count: int | None, output: str | None,
) -> None:  # fmt: skip
    """Compare a cluster with what Kafka would have done.

    partition-allocator verify --snapshot cluster.json --group billing

    It compares each group with its assignor's answer, each topic with the placements that the placer can draw, and with
    --sample-keys each topic's records with the partitioners of all clients. The cluster is a snapshot (--snapshot) or a live one
    (--bootstrap-server). The exit status is 1 if something differs, else 3 if a group or topic given by name was not found.
    """
    if file is not None:
        if bootstrap_server or command_config or keys_count:
            raise click.UsageError("--snapshot needs no --bootstrap-server, --command-config or --sample-keys.")
        document = read_snapshot(file)
        findings = list(_findings(document, topic_names, group_ids))
    else:
        extent = extent_of((), group_ids, with_offsets_topic=with_offsets_topic, expected_topics=topic_names)
        from service.live.snapshot import take_snapshot  # noqa: PLC0415 - needs the Kafka client

        with cluster_client(bootstrap_server, command_config, time_limit) as client:
            document = take_snapshot(client, extent)
            findings = list(_findings(document, topic_names, group_ids))
            if keys_count:
                findings += _check_keys(client, document, topic_names, keys_count)
    not_found = [*missing(document, "group", group_ids), *missing(document, "topic", topic_names)]
    findings += not_found
    _print(findings, document.get("not_known", ()), parameters.form(output))
    if any(finding.verdict == "differs" for finding in findings):
        sys.exit(DIFFERS)
    sys.exit(NOT_FOUND if not_found else 0)


def _findings(document: dict[str, Any], topic_names: Sequence[str], group_ids: Sequence[str]) -> Iterator[Finding]:
    """The findings about the groups and topics that are named; if none are, about all."""
    if group_ids or not topic_names:
        yield from check_groups(document, group_ids)
    if topic_names or not group_ids:
        yield from check_topics(document, topic_names)


def _check_keys(client: ClusterClient, document: dict[str, Any], topic_names: Sequence[str], count: int) -> Iterator[Finding]:
    """Which partitioner wrote each topic."""
    from service.live.errors import ClusterError  # noqa: PLC0415 - needs the Kafka client
    from service.live.records import sample_keys  # noqa: PLC0415

    for topic in document["topics"]:
        name = topic["topic_name"]
        if topic["internal"] or (topic_names and name not in topic_names):
            continue
        try:
            sample = sample_keys(client, topic, count)
        except ClusterError as error:
            yield Finding("keys", name, "", "not_checked", str(error))
            continue
        if not sample:
            yield Finding("keys", name, "", "not_checked", "no records with a key")
            continue
        yield written_by(name, topic["partitions_count"], sample)


def written_by(name: str, partitions_count: int, sample: Sequence[tuple[bytes, int]]) -> Finding:
    """Which partitioners wrote the records of a sample: (key, partition)."""
    import numpy as np  # noqa: PLC0415 - imports that --help does not need
    import pyarrow as pa  # noqa: PLC0415

    from service.core.budget import Budget  # noqa: PLC0415
    from service.core.errors import AllocatorError  # noqa: PLC0415
    from service.decisions.fingerprints import FingerprintQuestion, answer  # noqa: PLC0415

    keys = pa.chunked_array([pa.array([key for key, _ in sample], pa.binary())])
    partition_ids = np.array([partition for _, partition in sample], np.int32)
    try:
        found = answer(FingerprintQuestion(keys, partition_ids, partitions_count), Budget())
    except AllocatorError as error:
        return Finding("keys", name, "", "not_checked", str(error))
    writers = [names[0] if names else "no client" for names in found.result.writers[: len(found.result.mixture.components)]]
    by = ", ".join(dict.fromkeys(writers))
    return Finding("keys", name, by, OF_KEYS.get(found.result.verdict, "alike"), found.conclusion)


def _print(findings: Sequence[Finding], not_known: Sequence[dict[str, Any]], form: str) -> None:
    if form == "json":
        documents = [finding.document() for finding in findings]
        click.echo(
            dumps(
                {"conclusion": conclusion(findings), "findings": documents, "totals": _totals(findings), "not_known": not_known}
            )
        )
    elif form == "junit":
        click.echo(tostring(_junit(findings), encoding="unicode", xml_declaration=True))
    else:
        rows = [(each.kind, each.name, each.by, MARKS[each.verdict], _explained(each)) for each in findings]
        console = Console()
        console.say(conclusion(findings), "")
        console.print(table(("kind", "name", "by", "verdict", "why"), sorted(rows, key=lambda row: row[3][0] != "✗")))
    for entry in not_known:
        if form != "json" and entry["field"] not in _UNVERIFIED:
            names = entry.get("names", ())
            of = f" of {first_few(names, MOST_NAMES)}" if names else ""
            note(f"Not known: {entry['field']}{of}: {entry['reason']}")


def _explained(finding: Finding) -> str:
    if not finding.differences:
        return finding.reason
    first = finding.differences[0]
    owners, expected = (", ".join(first[name]) or "no member" for name in ("member_ids", "expected_member_ids"))
    if "connector_name" in first:
        place = first["connector_name"] if first["task_id"] is None else f"{first['connector_name']}-{first['task_id']}"
        count = counted(finding.differences_count, "connector or task", "connectors and tasks")
    else:
        place = f"{first['topic_name']}-{first['partition_id']}"
        count = counted(finding.differences_count, "partition")
    return f"{finding.reason}; {count}, first {place}: {owners} instead of {expected}"


def _totals(findings: Sequence[Finding]) -> dict[str, int]:
    return {verdict: sum(finding.verdict == verdict for finding in findings) for verdict in MARKS}


def _junit(findings: Sequence[Finding]) -> Element:
    """One test suite a kind and one test case a finding, as CI servers show them."""
    root = Element("testsuites", name="partition-allocator verify")
    for kind in dict.fromkeys(finding.kind for finding in findings):
        of_kind = [finding for finding in findings if finding.kind == kind]
        totals = _totals(of_kind)
        suite = SubElement(
            root,
            "testsuite",
            name=kind,
            tests=str(len(of_kind)),
            failures=str(totals["differs"]),
            errors="0",
            skipped=str(totals["not_checked"]),
        )
        for finding in of_kind:
            case = SubElement(suite, "testcase", classname=kind, name=printable(finding.name))
            if finding.verdict == "differs":
                SubElement(case, "failure", message=printable(finding.reason)).text = printable(_explained(finding))
            elif finding.verdict == "not_checked":
                SubElement(case, "skipped", message=printable(finding.reason))
    return root
