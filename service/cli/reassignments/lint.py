"""``lint``: the errors in a reassignment JSON, for people, for programs and for code hosts."""

import sys
from io import BufferedReader
from typing import Any, Final
from urllib.parse import quote

import click

from service import __version__
from service.cli import options
from service.cli.asking import ask
from service.cli.descriptions import reading
from service.cli.errors import BadInput, note
from service.cli.help import GroupedCommand
from service.cli.terminal import Cells, Console, table
from service.core.printable import first_few, printable
from service.descriptions import UnreadableDescription, bodies
from service.descriptions.documents import parse_json
from service.descriptions.model import Path, lines_of
from service.http.json.codec import dumps, loads
from service.planner.reassignments import UNKNOWN_RACKS
from service.planner.reassignments.lint import RULES

HEADS: Final = ("line", "severity", "rule", "partitions", "brokers", "finding")
NAMED: Final = 5
"""Lines, partitions and brokers that a row names."""

SARIF_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


@click.command(
    cls=GroupedCommand,
    help="Check a reassignment JSON against a cluster. Exits with 1 if there are errors.\n\n"
    "partition-allocator lint moves.json --snapshot topics.txt\n\n"
    f"FILE is the JSON that kafka-reassign-partitions reads. The cluster is {options.FORMS}.",
)
@click.argument("file", type=click.File("rb"))
@click.option(
    "--snapshot",
    "snapshots",
    type=click.File("rb"),
    multiple=True,
    required=True,
    help="Description of the cluster. Repeatable.",
)
@options.RACKS
@click.option("--racks", "accepted", type=click.Choice([UNKNOWN_RACKS]), help="Accept that no broker has a rack.")
@options.output("table", "json", "sarif")
def lint(
    *, file: BufferedReader, snapshots: tuple[BufferedReader, ...], racks: tuple[str, ...], accepted: str | None,
    output: str | None,
) -> None:  # fmt: skip
    """See ``help`` above."""
    try:
        text = reading.text(file)
        reassignment = parse_json(text)
    except UnreadableDescription as error:
        raise BadInput(f"{file.name}, {error}") from None
    description = reading.with_racks(reading.read_all(snapshots), racks)
    body = {**bodies.reassignment(description), "reassignment": reassignment, **({"racks": accepted} if accepted else {})}
    answer = ask("/v1/reassignments:lint", body)
    document = loads(answer)
    findings = document["findings"]
    paths = [_path(finding["pointer"]) for finding in findings]
    lines = lines_of(text, paths)
    form = options.form(output)
    if form == "json":
        click.echo(answer)
    elif form == "sarif":
        note(printable(document["conclusion"]))
        click.echo(dumps(_sarif(file.name, findings, [lines[path] for path in paths])))
    else:
        console = Console()
        console.say(document["conclusion"], *document["warnings"])
        if findings:
            console.say("")
            console.print(table(HEADS, _alike(findings, [lines[path] for path in paths])))
    if document["counts"]["error"]:
        sys.exit(1)


def _alike(findings: list[dict[str, Any]], lines: list[int]) -> list[Cells]:
    """A row for all findings that say the same. lines : of each finding"""
    groups: dict[tuple[str, ...], list[tuple[int, dict[str, Any]]]] = {}
    for line, finding in zip(lines, findings, strict=True):
        groups.setdefault((finding["severity"], finding["rule"], finding["text"]), []).append((line, finding))
    return [
        (
            first_few([line for line, _ in group], NAMED),
            severity,
            rule,
            first_few([f"{each['topic_name']}-{each['partition_id']}" for _, each in group if each["topic_name"]], NAMED),
            first_few(sorted({broker for _, each in group for broker in each["broker_ids"]}), NAMED),
            text,
        )
        for (severity, rule, text), group in groups.items()
    ]


def _path(pointer: str) -> Path:
    """Where it points in the file, which is ``/reassignment`` of the body."""
    return tuple(int(part) if part.isdecimal() else part for part in pointer.split("/")[2:])


def _sarif(name: str, findings: list[dict[str, Any]], lines: list[int]) -> dict[str, Any]:
    """The findings as a SARIF 2.1.0 log. name : of the file; lines : of each finding"""
    rules = [{"id": rule, "shortDescription": {"text": text}} for rule, text in RULES.items()]
    location = {"uri": quote(name)}
    results = [
        {
            "ruleId": finding["rule"],
            "ruleIndex": list(RULES).index(finding["rule"]),
            "level": finding["severity"],
            "message": {"text": finding["detail"]},
            "locations": [{"physicalLocation": {"artifactLocation": location, "region": {"startLine": line}}}],
        }
        for finding, line in zip(findings, lines, strict=True)
    ]
    driver = {"name": "partition-allocator", "version": __version__, "rules": rules}
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}
