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
from service.cli.errors import BadInput
from service.cli.terminal import Console, table
from service.descriptions import UnreadableDescription, bodies
from service.descriptions.documents import parse_json
from service.descriptions.json_lines import Path, lines_of
from service.planner.reassignments.lint import RULES
from service.web.json.codec import dumps, loads

SARIF_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


@click.command(
    help="Check a reassignment JSON against a cluster. Exits with 1 if there are errors.\n\n"
    f"FILE is the JSON that kafka-reassign-partitions reads. The cluster is {options.FORMS}."
)
@click.argument("file", type=click.File("rb"))
@click.option(
    "--cluster", "clusters", type=click.File("rb"), multiple=True, required=True, help="Description of the cluster. Repeatable."
)
@options.RACKS
@options.output("table", "json", "sarif", names=("--output", "--format"))
def lint(*, file: BufferedReader, clusters: tuple[BufferedReader, ...], racks: tuple[str, ...], output: str | None) -> None:
    """See ``help`` above."""
    try:
        text = reading.text(file)
        reassignment = parse_json(text)
    except UnreadableDescription as error:
        raise BadInput(f"{file.name}, {error}") from None
    description = reading.with_racks(reading.merged([reading.read(cluster) for cluster in clusters]), racks)
    body = {**bodies.cluster(description, bodies.PLACEMENT), "reassignment": reassignment}
    answer = ask("/v1/reassignments:lint", body)
    document = loads(answer)
    findings = document["findings"]
    paths = [_path(finding["pointer"]) for finding in findings]
    lines = lines_of(text, paths)
    form = options.form(output)
    if form == "json":
        click.echo(answer)
    elif form == "sarif":
        click.echo(dumps(_sarif(file.name, findings, [lines[path] for path in paths])))
    else:
        rows = [
            (str(lines[path]), finding["severity"], finding["rule"], finding["detail"])
            for path, finding in zip(paths, findings, strict=True)
        ]
        console = Console()
        console.print(table(("line", "severity", "rule", "finding"), rows))
        counts = document["counts"]
        console.say(" · ".join(f"{count} {name}{'' if count == 1 else 's'}" for name, count in counts.items()))
    if document["counts"]["error"]:
        sys.exit(1)


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
