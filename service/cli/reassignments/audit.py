"""``audit``: what is at risk, and could a placer have placed the topics this way?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import click
import pyarrow as pa

from service.cli import into as into_folder
from service.cli import options, request_bodies
from service.cli.asking import ask, ask_each
from service.cli.descriptions import reading
from service.cli.errors import BadInput, note
from service.cli.help import GroupedCommand
from service.cli.reassignments import check
from service.cli.terminal import ROWS, Console, table
from service.core.printable import counted, printable
from service.descriptions import Description, bodies
from service.http.json.codec import loads

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader

    from service.pipeline.analyses.outcome import Outcome

HEADS: Final = ("topic", "possible", "draws, or the broken rule", "leader skew", "best", "typical", "worst")

NOT_AUDITED: Final = ("leader", "in_sync_replicas")
"""Members of a placement that say nothing about how it came about; a table of topics has no columns for them."""


@click.command(
    cls=GroupedCommand,
    help="Check what is at risk, and whether a placer could have placed topics this way. Exits with 1 if any partition "
    "is at risk.\n\n"
    "partition-allocator audit topics.txt --snapshot racks.csv\n\n"
    f"FILE is the JSON body of POST /v1/placement-audits, or {options.FORMS}. Default: standard input.",
)
@click.argument("file", type=click.File("rb"), default=None, required=False)
@options.SNAPSHOT
@options.RACKS
@click.option("--topic", "topic_names", multiple=True, help="Topic in the description. Repeatable. Default: all.")
@click.option("--placer", help="Placer. Default: striped, or the one in the body.")
@click.option("--draws", is_flag=True, help="Show the random draws of each topic, or the rule that it breaks, in the table.")
@into_folder.option("fleet --topics")
@options.OUTPUT
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
    form = options.form(output)
    if into is not None:
        sources = [each.name for each in (file, *snapshots) if each]
        into_folder.write(into, sources, lambda: _fleet(chosen, ", ".join(sources) or "-"), form)
        return
    answers = list(ask_each("/v1/placement-audits", chosen, form))  # of which a fault is named first
    state = loads(ask(check.PATH, body))
    if form == "table":
        check.show(state)
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
    console.print(table(HEADS, [_row(document) for document in documents]))
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

    for placement in (each for request in requests for each in request_bodies.rows(request, "placements")):
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
