"""``partitions``, ``assign`` and ``place``: options, or the JSON body of an endpoint → its answer.

``assign`` and ``place`` also make the body from a description of a cluster.
"""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from service import parameters
from service.cli import BadInput, GroupedCommand, ask, object_of, printed, read_input
from service.parameters import Parsed
from service.report.figures import id_ranges, number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from io import BufferedReader

    from service.cli.terminal import Cells


def batch_topics(starting: str | None, ending: str | None) -> list[dict[str, Any]]:
    """``topics`` with their ``lag``. Raises UsageError."""
    starts, ends = _offsets("--starting-offsets", starting), _offsets("--ending-offsets", ending)
    if {name: of.keys() for name, of in starts.items()} != {name: of.keys() for name, of in ends.items()}:
        raise click.UsageError("--starting-offsets and --ending-offsets must have the same topics and partitions.")
    for name, of in ends.items():
        missing = next((i for i in range(max(len(of), 1)) if i not in of), None)
        if missing is not None:
            raise click.UsageError(f"--ending-offsets: topic {name!r} lacks partition {missing}.")
    return [
        {
            "topic_name": name,
            "partitions_count": len(of),
            "lag": {
                "committed_offsets": [starts[name][i] for i in range(len(of))],
                "log_end_offsets": [of[i] for i in range(len(of))],
            },
        }
        for name, of in ends.items()
    ]


def _offsets(option: str, text: str | None) -> dict[str, dict[int, int]]:
    """Topic → partition → offset."""
    if text is None:
        raise click.UsageError(f"Missing option '{option}'.")
    with suppress(ValueError, AttributeError, RecursionError):
        offsets = {name: {int(i): offset for i, offset in of.items()} for name, of in json.loads(text).items()}
        if all(type(offset) is int and offset >= 0 for of in offsets.values() for offset in of.values()):
            return offsets
    raise click.UsageError(f'{option}: {text[:60]!r} is not offsets by topic and partition, such as {{"orders":{{"0":23}}}}.')


Body: TypeAlias = "bytes | dict[str, Any]"
"""JSON from a file, or what options say."""

Shown: TypeAlias = "tuple[Sequence[str], list[Cells]]"
"""The heads and the rows of a table for a terminal."""

FILE_OR_OPTIONS = "Without these options, FILE is the JSON body of POST {path}. Default: standard input."
FILE_DESCRIPTION_OR_OPTIONS = f"{FILE_OR_OPTIONS} FILE may also be {parameters.FORMS}."


@click.command(cls=GroupedCommand, epilog=FILE_OR_OPTIONS.format(path="/v1/partitions"))
@click.argument("keys", nargs=-1, metavar="[KEY]... | [FILE]")
@click.option("--partitions", "partitions_count", type=int, help="Number of partitions of the topic. The arguments are keys.")
@click.option("--partitioner", help="Partitioner of the client, such as librdkafka. Default: java.")
@click.option("--key-format", help="Serializer of the keys, such as long. Default: string.")
@click.option("--random-seed", type=int, help="Seed of partitioners that draw at random.")
@parameters.EXPLAIN
@parameters.OUTPUT
def partitions(*, keys: tuple[str, ...], partitions_count: int | None, explain: bool, output: str | None, **fields: Any) -> None:
    """Compute the partition of each key.

    partition-allocator partitions order-1 order-2 --partitions 6
    """
    if partitions_count is None:
        if len(keys) > 1 or any(value is not None for value in fields.values()):
            raise click.UsageError("Missing option '--partitions'.")
        body: Body = _file(keys[0] if keys else "-", "To give keys as arguments, add --partitions.")
    elif not keys:
        raise click.UsageError("Missing argument 'KEY'.")
    else:
        values: list[Any] = [parameters.key(key, fields["key_format"]) for key in keys]
        body = _body({"partitions_count": partitions_count, "keys": values, **fields})
    _answer("/v1/partitions", body, _partition_rows, parameters.form(output, explain=explain), explain=explain)


@click.command(cls=GroupedCommand, epilog=FILE_DESCRIPTION_OR_OPTIONS.format(path="/v1/group-assignments"))
@click.argument("file", required=False)
@parameters.TOPICS
@parameters.MEMBERS
@parameters.GROUP
@click.option(
    "--compare",
    multiple=True,
    metavar="[PROTOCOL:]ASSIGNOR",
    help="Another assignor to compare with, such as librdkafka:range or consumer:uniform. Repeatable.",
)
@click.option("--max-moves", type=click.IntRange(0), help="Most partitions that may change hands, for balanced.")
@parameters.PRICE
@click.option("--frontier", is_flag=True, help="Show what fewer moves achieve, for balanced.")
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), help="Also draw the frontier, with --frontier.")
@parameters.EXPLAIN
@parameters.OUTPUT
def assign(
    *, file: str | None, topics: tuple[tuple[str, int], ...], members: int | tuple[str, ...] | None,
    snapshots: tuple[BufferedReader, ...],
    compare: tuple[str, ...], max_moves: int | None, price_per_gb: float | None, frontier: bool,
    svg: Path | None, explain: bool, output: str | None, **fields: Any,
) -> None:  # fmt: skip
    """Assign partitions to the members of a group.

    partition-allocator assign --topic orders:12 --members 5 --assignor range
    """
    form = parameters.form(output, explain=explain)
    if svg is not None and not frontier:
        raise click.UsageError("--svg draws the frontier: add --frontier.")
    if svg is not None and form == "csv":
        raise click.UsageError("--svg is for --output table or json, not csv.")
    if (topics or members is not None) and file is None and not snapshots:
        body: Body = _body({**parameters.described_group(topics, members), **fields})
    else:
        with _open(file or "-", "To describe a group by options, give --topic and --members.") as source:
            from service.cli.descriptions import reading  # noqa: PLC0415 - an import that --help does not need

            given = sys.stdin.buffer if file == "-" else source
            body = reading.body(given, reading.assignment_body, snapshots, topics=topics, members=members, **fields)
    if price_per_gb is not None:
        body = _extended(body, {"price_per_gb": price_per_gb})
    if frontier or max_moves is not None:
        of_group = {} if fields["assignor"] else {"assignor": "balanced", "client": None, "client_version": None}
        body = _extended(body, {**of_group, "max_moves": max_moves})
    if compare:
        body = _comparing(body, compare)
    rows = _frontier_rows if frontier else _assign_rows
    answer = _answer("/v1/group-assignments", body, rows, form, explain=explain, frontier=frontier)
    if svg is not None:
        svg.write_text(_frontier_picture(answer), encoding="utf-8")


@click.command(cls=GroupedCommand)
@parameters.TOPICS
@parameters.MEMBERS
@click.option("--assignor", help="How a system divides partitions, such as flink:kafka-source. Default: spark:kafka-source.")
@parameters.BATCH
@parameters.EXPLAIN
@parameters.OUTPUT
def splits(
    *, topics: tuple[tuple[str, int], ...], members: int | tuple[str, ...] | None, assignor: str | None,
    starting_offsets: str | None, ending_offsets: str | None, explain: bool, output: str | None, **limits: int | None,
) -> None:  # fmt: skip
    """Divide partitions among readers that form no group, as Spark, Flink, Beam, Druid and MirrorMaker do.

    partition-allocator splits --topic orders:12 --members 4
    """
    question = {"group_protocol": "splits", "assignor": assignor or "spark:kafka-source", **limits}
    if starting_offsets is None and ending_offsets is None:
        group = parameters.described_group(topics, members)
    elif topics:
        raise click.UsageError("--starting-offsets and --ending-offsets name the topics: leave out --topic.")
    else:
        listed = batch_topics(starting_offsets, ending_offsets)
        executors = parameters.described_group([(listed[0]["topic_name"], 1)] if listed else (), members, "executor-")["members"]
        group = {"topics": listed, "members": executors}
    form = parameters.form(output, explain=explain)
    _answer("/v1/group-assignments", _body({**question, **group}), _assign_rows, form, explain=explain)


@click.command(cls=GroupedCommand, epilog=FILE_DESCRIPTION_OR_OPTIONS.format(path="/v1/replica-placements"))
@click.argument("file", default="-")
@click.option("--brokers", help="Number of brokers (0, 1, …), or their ids separated by commas.")
@click.option(
    "--racks",
    "racks_count",
    type=Parsed("racks", parameters.racks, "a number of racks, or unknown"),
    help="Number of racks of the --brokers, in turn; unknown accepts that none has a rack. Default: none.",
)
@parameters.PLACEMENT
@click.option("--random-seed", type=int, help="Seed of placers that draw at random.")
@parameters.PRICE
@parameters.EXPLAIN
@parameters.OUTPUT
def place(
    *, file: str, brokers: str | None, racks_count: int | str | None, racks: tuple[str, ...],
    snapshots: tuple[BufferedReader, ...], topic_name: str | None, price_per_gb: float | None, explain: bool, output: str | None,
    **fields: Any,
) -> None:  # fmt: skip
    """Place replicas on brokers.

    partition-allocator place --brokers 6 --racks 3 --topic orders:12
    """
    fields |= _topic(topic_name, fields["partitions_count"])
    more = {"price_per_gb": price_per_gb, "racks": racks_count if isinstance(racks_count, str) else None}
    if brokers is None:
        if isinstance(racks_count, int):
            raise click.UsageError("Missing option '--brokers'.")
        with _open(file, "To describe a cluster by options, give --brokers.") as source:
            from service.cli.descriptions import reading  # noqa: PLC0415 - an import that --help does not need

            body: Body = reading.body(source, reading.placement_body, snapshots, racks=racks, **fields)
    else:
        parameters.check_no_file(None if file == "-" else file, snapshots)
        if racks:
            raise click.UsageError("--rack is for descriptions of a cluster: with --brokers, give --racks.")
        body = _body(_placement(brokers, racks_count if isinstance(racks_count, int) else None, fields))
    further = {name: value for name, value in more.items() if value is not None}
    body = _extended(body, further) if further else body
    _answer("/v1/replica-placements", body, _place_rows, parameters.form(output, explain=explain), explain=explain)


def _comparing(body: Body, compare: tuple[str, ...]) -> Body:
    """The body with these assignors, ``consumer:uniform`` or ``librdkafka:range`` each, beside the one that it asks for."""
    from service.strategies import GROUP_PROTOCOLS  # noqa: PLC0415 - an import that --help does not need

    rows = []
    for text in compare:
        protocol, _, assignor = text.partition(":") if text.partition(":")[0] in GROUP_PROTOCOLS else ("classic", "", text)
        rows.append({"group_protocol": protocol, **({"assignor": assignor} if assignor else {})})
    return _extended(body, {"compare": rows})


def _extended(body: Body, more: dict[str, Any]) -> Body:
    """The body with more fields; the elements of lists come after those that it has."""
    document = object_of(body) if isinstance(body, bytes) else body
    if document is None:
        return body  # the service says what is wrong with it
    joined = {name: [*(document.get(name) or ()), *value] if isinstance(value, list) else value for name, value in more.items()}
    return _body({**document, **joined})


def _topic(text: str | None, partitions_count: int | None) -> dict[str, Any]:
    """The fields of a topic: ``orders:12``, or ``orders`` with the count as an option of its own."""
    if text is None or ":" not in text:
        return {"topic_name": text}
    if partitions_count is not None:
        raise click.UsageError("--topic has the number of partitions: leave out --partitions.")
    name, count = parameters.TOPIC.convert(text, click.Option(["--topic"]), None)
    return {"topic_name": name, "partitions_count": count}


def _placement(brokers: str, racks: int | None, fields: dict[str, Any]) -> dict[str, Any]:
    count = parameters.count(brokers)
    if count is not None:
        rows = parameters.broker_rows(count, racks)
    else:
        ids = [parameters.count(name) for name in brokers.split(",")]
        if None in ids:
            raise click.UsageError(f"--brokers: {brokers!r} is neither a number of brokers nor ids such as 1,2,5.")
        rows = [{**row, "broker_id": ids[i]} for i, row in enumerate(parameters.broker_rows(len(ids), racks))]
    defaults = {name: 1 for name in ("partitions_count", "replication_factor") if fields[name] is None}
    return {"brokers": rows, **fields, **defaults}


def _open(name: str, hint: str) -> AbstractContextManager[BufferedReader | None]:
    """The file of that name; None for "-"."""
    try:
        return nullcontext() if name == "-" else Path(name).open("rb")
    except OSError as error:
        raise BadInput(f"{name}: {error.strerror}. {hint}") from None


def _file(name: str, hint: str) -> bytes:
    """The body in a file, or on standard input for "-"."""
    with _open(name, hint) as file:
        return read_input(file or sys.stdin.buffer)


def _body(question: dict[str, Any]) -> Body:
    """The fields that are given. Not as JSON, which cannot have a number of more than 64 bits: the family refuses it."""
    return {name: value for name, value in question.items() if value is not None}


def _answer(path: str, body: Body, rows: Callable[[dict[str, Any], dict[str, Any]], Shown], form: str, **query: bool) -> bytes:
    """Post the body, print the answer and return it. rows : of the body and the answer, for a terminal"""
    answer = ask(path, body, form, **query)
    if printed(answer, form):
        return answer
    from service.cli.terminal import Console, table  # noqa: PLC0415 - an import that other forms do not need
    from service.http.json.codec import loads  # noqa: PLC0415

    document, console = loads(answer), Console()
    if "conclusion" in document:
        console.say(document["conclusion"])
    console.say(*document.get("warnings", ()))
    console.print(table(*rows(loads(body) if isinstance(body, bytes) else body, document)))
    if document.get("ranges"):
        console.print(table(*_range_rows(document)))
    if document.get("comparisons"):
        console.print(table(*_comparison_rows(document)))
    if summary := _summary(document):
        console.print(summary)
    return answer


def _summary(answer: dict[str, Any]) -> str:
    """One line: how evenly the answer distributes, and how many partitions move."""
    spread, what = answer.get("distribution"), "keys per partition"
    if spread is None:
        spread, what = answer.get("member_load"), "partitions per member"
    if spread is None:
        spread, what = answer.get("broker_load", {}).get("replicas", {}), "replicas per broker"
    if what == "keys per partition" and spread["mean"] < 1:
        return ""
    words = [f"{name} {spread[name]:.4g}" for name in ("min", "max", "mean") if name in spread]
    text = f"{what}: {', '.join(words)}; skew (max ÷ mean) {spread['skew']:.4g}" if words else ""
    movement = answer.get("movement", {})
    if not movement.get("retained") and not movement.get("revoked"):
        movement = {}  # no member owned anything
    moves = [f"{name} {count}" for name, count in movement.items() if count is not None]
    return text + ("\npartitions: " + ", ".join(moves).replace("_", " ") if moves else "")


def _partition_rows(body: dict[str, Any], answer: dict[str, Any]) -> Shown:
    keys = body["keys"] if "keys" in body else [record.get("key") for record in body.get("records", ())]
    results = answer.get("partitions", answer.get("tokens", ()))
    rows: list[Cells] = [("(null)" if key is None else str(key), str(result)) for key, result in zip(keys, results, strict=False)]
    return ("key", "partition" if "partitions" in answer else "token"), rows


def _assign_rows(body: dict[str, Any], answer: dict[str, Any]) -> Shown:
    if answer["group_protocol"] == "connect":
        return ("round", "at_ms", "worker", "starts", "stops"), _connect_rows(answer["rounds"])
    if answer["group_protocol"] == "streams":
        return ("member or client", "active tasks", "standby tasks"), _streams_rows(answer["assignments"])
    from service.cli.terminal import HEADS, assignment_rows, listed  # noqa: PLC0415 - imports Rich, as in _answer

    before = [
        {"member_id": member.get("member_id", ""), "partitions": member.get("owned_partitions") or ()}
        for member in body.get("members", ())
    ]
    rows = assignment_rows(answer["assignments"], before)
    for name, parts in (("(unassigned)", answer["unassigned"]), ("(left to chance)", answer.get("left_open"))):
        if parts:
            rows.append((name, "", "", "", listed(parts)))
    return HEADS, rows


def _range_rows(answer: dict[str, Any]) -> Shown:
    """A row for each task of a batch."""
    rows: list[Cells] = [
        (part["topic_name"], str(i), str(start), str(end), str(end - start))
        for part in answer["ranges"]
        for i, start, end in zip(part["partition_ids"], part["from_offsets"], part["until_offsets"], strict=True)
    ]
    return ("topic", "partition", "from", "until", "records"), rows


def _connect_rows(rounds: list[dict[str, Any]]) -> list[Cells]:
    def told(connectors: list[str], tasks: list[dict[str, Any]]) -> str:
        of_tasks = [f"{part['connector_name']}: {id_ranges(part['task_ids'])}" for part in tasks]
        return ", ".join([*connectors, *of_tasks]) or "—"

    return [
        (
            str(i),
            str(each["at_ms"]),
            worker["member_id"],
            told(worker["connectors"], worker["tasks"]),
            told(worker.get("revoked_connectors", []), worker.get("revoked_tasks", [])),
        )
        for i, each in enumerate(rounds)
        for worker in each["assignments"]
    ]


def _streams_rows(assignments: list[dict[str, Any]]) -> list[Cells]:
    def told(tasks: list[dict[str, Any]]) -> str:
        return ", ".join(f"{part['subtopology_id']}: {id_ranges(part['task_ids'])}" for part in tasks) or "—"

    return [
        (each.get("member_id", each.get("process_id", "")), told(each["active_tasks"]), told(each["standby_tasks"]))
        for each in assignments
    ]


def _comparison_rows(answer: dict[str, Any]) -> Shown:
    """A row for the assignor asked for, and one for each that is compared."""
    rows = []
    racks = "zone_traffic" in answer
    for one in (answer, *answer["comparisons"]):
        load, moves = one.get("weighted_member_load") or one.get("member_load"), one.get("movement")
        cells = [number(load["max"]), f"{load['skew']:.4g}", str(moves["moved"])] if load and moves else ["—", "—", one["error"]]
        if racks:
            share = one.get("zone_traffic", {}).get("local_share")
            cells.append("—" if share is None else f"{share:.4g}")
        rows.append((f"{one['group_protocol']} {one['assignor']}", *cells))
    return ("assignor", "largest load", "skew", "moved", *["can be read on the reader's rack"] * racks), rows


def _frontier_rows(_: dict[str, Any], answer: dict[str, Any]) -> Shown:
    rows = [
        (*(number(point[name]) for name in ("moves", "worst_load", "stddev")), "proven" if point["proven"] else "not proven")
        for point in answer["frontier"]
    ]
    return ("moves", "worst load", "stddev", "least worst load"), rows


def _frontier_picture(answer: bytes) -> str:
    """The curve of an answer's frontier as SVG."""
    from service.http.json.codec import loads  # noqa: PLC0415
    from service.report.figures import curve  # noqa: PLC0415 - see _answer

    points = loads(answer)["frontier"]
    moves, worst = ([point[name] for point in points] for name in ("moves", "worst_load"))
    return curve("The least worst load with each number of moves", ("partitions moved", moves), ("worst load", worst))


def _place_rows(_: dict[str, Any], answer: dict[str, Any]) -> Shown:
    from service.http.json.codec import loads  # noqa: PLC0415

    rows: list[Cells] = []
    if "proposed_json" in answer:
        moves = loads(answer["proposed_json"])["partitions"]
        rows = [(m["topic"], str(m["partition"]), " ".join(map(str, m["replicas"]))) for m in moves]
    else:
        topics = [topic for operation in answer.get("results", ()) for topic in operation] or answer.get("topics") or [answer]
        rows = [
            (topic.get("topic_name", ""), str(placement["partition_id"]), " ".join(map(str, placement["replicas"])))
            for topic in topics
            for placement in topic.get("placements", ())
        ]
        rows += [
            (topic.get("topic_name", ""), "", f"{topic['error']}: {topic['message']}") for topic in topics if "error" in topic
        ]
    if all(not row[0] for row in rows):
        return ("partition", "replicas (leader first)"), [row[1:] for row in rows]
    return ("topic", "partition", "replicas (leader first)"), rows
