"""``check``, ``lint`` and ``audit``: partitions at risk, errors in a reassignment, and whether a placer could have placed so."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import click
import pyarrow as pa

from service import __version__, parameters
from service.cli import BadInput, GroupedCommand, ask, ask_each, note, rows_of
from service.cli import into as into_folder
from service.cli.descriptions import reading
from service.cli.terminal import ROWS, Cells, Console, table, tell
from service.core.printable import counted, first_few, printable
from service.descriptions import Description, UnreadableDescription, bodies
from service.descriptions.documents import parse_json
from service.descriptions.model import Path, lines_of
from service.http.json.codec import dumps, loads
from service.planner.reassignments import UNKNOWN_RACKS
from service.planner.reassignments.lint import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader

    from service.pipeline.analyses.results import Outcome

PATH: Final = "/v1/placement-checks"
FINDINGS: Final = ("severity", "rule", "topic", "partitions", "brokers", "finding")
BROKERS: Final = ("broker", "rack", "replicas", "leads now", "preferred leader of")
IDS: Final = 10
"""Partitions, or brokers, of a finding that a row names."""


@click.command(
    cls=GroupedCommand,
    help="Check which partitions have no leader, lack replicas in sync or are not rack-safe. Exits with 1 if any is at risk.\n\n"
    "partition-allocator check topics.txt --snapshot racks.csv\n\n"
    f"FILE is the JSON body of POST {PATH}, or {parameters.FORMS}. Several are merged. Default: standard input.",
)
@click.argument("files", metavar="[FILE]...", type=click.File("rb"), nargs=-1)
@parameters.SNAPSHOT
@parameters.RACKS
@parameters.OUTPUT
def check(
    *, files: tuple[BufferedReader, ...], snapshots: tuple[BufferedReader, ...], racks: tuple[str, ...], output: str | None
) -> None:
    """See ``help`` above."""

    def make(description: Description) -> dict[str, Any]:
        return bodies.placement_check(reading.with_racks(description, racks))

    body = reading.document(next(iter(files), None), make, (*files[1:], *snapshots))
    form = parameters.form(output)
    answer = loads(ask(PATH, body))
    if form == "table":
        show(answer)
    else:
        if form == "csv":
            note(printable(answer["conclusion"]))
        click.echo(ask(PATH, body, form), nl=form == "json")
    if answer["at_risk"]:
        sys.exit(1)


def show(answer: dict[str, Any]) -> None:
    """Print the sentences and tables of an answer."""
    findings = [
        (
            *(finding[name] for name in ("severity", "rule", "topic_name")),
            *(first_few(finding[name], IDS) for name in ("partition_ids", "broker_ids")),
            finding["detail"],
        )
        for finding in answer["findings"]
    ]
    brokers = [tuple("—" if cell is None else str(cell) for cell in broker.values()) for broker in answer["brokers"]]
    tell((answer["conclusion"], *answer["warnings"]), (FINDINGS, findings), (BROKERS, brokers))


FINDING_HEADS: Final = ("line", "severity", "rule", "partitions", "brokers", "finding")
NAMED: Final = 5
"""Lines, partitions and brokers that a row names."""

SARIF_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


@click.command(
    cls=GroupedCommand,
    help="Check a reassignment JSON against a cluster. Exits with 1 if there are errors.\n\n"
    "partition-allocator lint moves.json --snapshot topics.txt\n\n"
    f"FILE is the JSON that kafka-reassign-partitions reads. The cluster is {parameters.FORMS}.",
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
@parameters.RACKS
@click.option("--racks", "accepted", type=click.Choice([UNKNOWN_RACKS]), help="Accept that no broker has a rack.")
@parameters.output("table", "json", "sarif")
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
    form = parameters.form(output)
    if form == "json":
        click.echo(answer)
    elif form == "sarif":
        note(printable(document["conclusion"]))
        click.echo(dumps(_sarif(file.name, findings, [lines[path] for path in paths])))
    else:
        rows = _alike(findings, [lines[path] for path in paths])
        tell((document["conclusion"], *document["warnings"]), (FINDING_HEADS, rows))
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


AUDIT_HEADS: Final = ("topic", "possible", "draws, or the broken rule", "leader skew", "best", "typical", "worst")

NOT_AUDITED: Final = ("leader", "in_sync_replicas")
"""Members of a placement that say nothing about how it came about; a table of topics has no columns for them."""


@click.command(
    cls=GroupedCommand,
    help="Check what is at risk, and whether a placer could have placed topics this way. Exits with 1 if any partition "
    "is at risk.\n\n"
    "partition-allocator audit topics.txt --snapshot racks.csv\n\n"
    f"FILE is the JSON body of POST /v1/placement-audits, or {parameters.FORMS}. Default: standard input.",
)
@click.argument("file", type=click.File("rb"), default=None, required=False)
@parameters.SNAPSHOT
@parameters.RACKS
@click.option("--topic", "topic_names", multiple=True, help="Topic in the description. Repeatable. Default: all.")
@click.option("--placer", help="Placer. Default: striped, or the one in the body.")
@click.option("--draws", is_flag=True, help="Show the random draws of each topic, or the rule that it breaks, in the table.")
@into_folder.option("fleet --topics")
@parameters.OUTPUT
def audit(
    *, file: BufferedReader | None, snapshots: tuple[BufferedReader, ...], racks: tuple[str, ...], topic_names: tuple[str, ...],
    placer: str | None, draws: bool, into: str | None, output: str | None,
) -> None:  # fmt: skip
    """See ``help`` above."""
    requests: list[dict[str, Any]] = []

    def collect(description: Description) -> dict[str, Any]:
        described = reading.with_racks(description, racks)
        names = topic_names or [topic["topic_name"] for topic in described.topics if topic.get("placements")] or [None]
        requests.extend(bodies.placement_audit(described, name) for name in names)
        state = bodies.placement_check(described)
        return {**state, "topics": [topic for topic in state["topics"] if not topic_names or topic["topic_name"] in topic_names]}

    body = reading.document(file, collect, snapshots)
    if not requests:  # the body of one topic
        requests.append(body)
        body = {
            "brokers": body.get("brokers"),
            "topics": [{"topic_name": body.get("topic_name", "topic"), "placements": body.get("placements")}],
        }
    chosen = [{**request, **({} if placer is None else {"placer": placer})} for request in requests]
    form = parameters.form(output)
    if into is not None:
        sources = [each.name for each in (file, *snapshots) if each]
        into_folder.write(into, sources, lambda: _fleet(chosen, ", ".join(sources) or "-"), form)
        return
    answers = list(ask_each("/v1/placement-audits", chosen, form))  # of which a fault is named first
    state = loads(ask(PATH, body))
    if form == "table":
        show(state)
        _show([loads(answer) for answer in answers], draws=draws)
    else:
        note(printable(state["conclusion"]))
        for i, answer in enumerate(answers):
            header, _, rows = answer.partition(b"\n")
            click.echo((header + b"\n" if i == 0 else b"") + rows if form == "csv" else answer, nl=form == "json")
    if state["at_risk"]:
        sys.exit(1)


def _show(documents: list[dict[str, Any]], *, draws: bool) -> None:
    """Print how many audits found draws, and these. draws : the table of each"""
    console, broken = Console(), [document for document in documents if not document["possible"]]
    of, how = counted(len(documents), "topic"), "" if draws else "; --draws says how, and what speaks against the others"
    console.say("", f"{documents[0]['placer']} could have placed {len(documents) - len(broken):,} of {of} this way{how}.")
    if not draws:
        return
    console.say("")
    console.print(table(AUDIT_HEADS, [_row(document) for document in documents]))
    for document in broken[:ROWS]:
        name = document.get("topic_name", "the topic")
        broken_rule = document["broken_rule"]
        console.say("", f"{name}: {_place(broken_rule)}{broken_rule['detail']}", document["conclusion"])
    if len(broken) > ROWS:
        console.say("", f"… and {len(broken) - ROWS} more")


def _fleet(requests: list[dict[str, Any]], source: str) -> tuple[Outcome, pa.Table]:
    """What ``pipeline fleet`` finds in a table of these topics; no row is rejected."""
    from service.pipeline.analyses.fleet import outcome, placements  # noqa: PLC0415 - needs matplotlib
    from service.pipeline.analyses.fleet.summary import TOPIC_COLUMNS  # noqa: PLC0415

    for placement in (each for request in requests for each in rows_of(request, "placements")):
        for name in NOT_AUDITED:
            placement.pop(name, None)
    try:
        topics = pa.Table.from_pylist(requests)
    except (pa.ArrowException, OverflowError) as error:
        raise BadInput(f"{source}: {error}") from None
    placements.check_columns(topics.schema, brokers_apart=False)
    rows = pa.Table.from_batches(placements.place_topics(topics.to_batches(), None, None), placements.RESULT)
    wrong = rows.filter(rows["record"].is_valid())
    if len(wrong):
        raise BadInput(f"{source}: {wrong['detail'][0]}")
    part = outcome.of_topics(rows.select(list(TOPIC_COLUMNS)))
    return outcome.fleet({"topics": part}, {outcome.PLACEMENTS: rows}, source), pa.table({})


def _place(broken: dict[str, Any]) -> str:
    return "" if broken["partition_id"] is None else f"partition {broken['partition_id']}: "


def _row(answer: dict[str, Any]) -> tuple[str, ...]:
    skew = (answer["skew"] or {}).get("broker_leaders") or {}
    numbers = [f"{skew[name]:.3f}" if skew else "—" for name in ("actual", "best", "typical", "worst")]
    verdict = "yes" if answer["possible"] else "grown" if answer["other_history"] else "no"
    return (answer.get("topic_name", ""), verdict, "; ".join(_reasons(answer)), *numbers)


def _reasons(answer: dict[str, Any]) -> Iterator[str]:
    broken = answer["broken_rule"]
    if broken is not None:
        yield f"{_place(broken)}{broken['rule']}"
    for part in (*answer["parts"], *answer["other_history"]):
        last = part["start_partition_id"] + part["partitions_count"] - 1
        seed = "" if part["random_seed"] is None else f", random_seed {part['random_seed']}"
        yield f"{part['start_partition_id']}-{last} on brokers {part['brokers']}{seed}"
