"""``partition``, ``assign`` and ``place``: the JSON body of an endpoint → its answer.

``assign`` and ``place`` also make the body from a description of a cluster.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from service.cli import descriptions
from service.cli.local_client import post
from service.cli.terminal import fill, table
from service.web.json_codec import loads

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import BufferedReader

    from rich.table import Table


def _command(
    name: str,
    path: str,
    rows: Callable[[dict[str, Any], dict[str, Any]], Table],
    text: str,
    described: Callable[..., dict[str, Any]] | None = None,
    *options: Callable[[Any], Any],
) -> click.Command:
    """The command ``name``, which posts its input to ``path``.

    rows : (body, answer) → the table for a terminal
    described : makes the body of a description of the cluster and the values of ``options``; None: the input is always a body
    """
    or_description = "" if described is None else f", or {descriptions.FORMS}"

    @click.command(name, help=f"{text}\n\nFILE is the JSON body of POST {path}{or_description}. Default: standard input.")
    @click.argument("file", type=click.File("rb"), default=None, required=False)
    @click.option("--explain", is_flag=True, help="Add an explanation of the answer (JSON only).")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON, also on a terminal.")
    def command(file: BufferedReader | None, *, explain: bool, as_json: bool, **values: Any) -> None:
        body = descriptions.body(file, described, **values) if described else (file or sys.stdin.buffer).read()
        answer = post(f"{path}?explain=true" if explain else path, body)
        if as_json or explain or not sys.stdout.isatty():
            click.echo(answer)
            return
        document = loads(answer)
        console = Console()
        console.print(rows(loads(body), document))
        console.print(_summary(document))

    for option in reversed(options):
        command = option(command)
    return command


def _summary(answer: dict[str, Any]) -> str:
    """One line: how evenly the answer distributes, and how many partitions move."""
    spread = answer.get("distribution") or answer.get("member_load") or answer.get("broker_load", {}).get("replicas") or {}
    words = [f"{name} {spread[name]:.4g}" for name in ("min", "max", "mean", "stddev", "skew") if name in spread]
    words += [f"{name} {count}" for name, count in answer.get("movement", {}).items() if count is not None]
    return " · ".join(words)


def _partition_rows(body: dict[str, Any], answer: dict[str, Any]) -> Table:
    keys = body["keys"] if "keys" in body else [record.get("key") for record in body.get("records", ())]
    results = answer.get("partitions", answer.get("tokens", ()))
    rows = [("(null)" if key is None else str(key), str(result)) for key, result in zip(keys, results, strict=False)]
    return fill(table("key", "partition" if "partitions" in answer else "token"), rows)


def _assign_rows(_: dict[str, Any], answer: dict[str, Any]) -> Table:
    rows = [
        (assignment["member_id"], part["topic_name"], _ranges(part["partition_ids"]))
        for assignment in answer["assignments"]
        for part in assignment["partitions"] or [{"topic_name": "—", "partition_ids": []}]
    ]
    rows += [("(unassigned)", part["topic_name"], _ranges(part["partition_ids"])) for part in answer["unassigned"]]
    return fill(table("member", "topic", "partitions"), rows)


def _place_rows(_: dict[str, Any], answer: dict[str, Any]) -> Table:
    if "proposed_json" in answer:
        moves = loads(answer["proposed_json"])["partitions"]
        return fill(_placements(), [(m["topic"], str(m["partition"]), " ".join(map(str, m["replicas"]))) for m in moves])
    topics = [topic for operation in answer.get("results", ()) for topic in operation] or answer.get("topics") or [answer]
    rows = [
        (topic.get("topic_name", ""), str(placement["partition_id"]), " ".join(map(str, placement["replicas"])))
        for topic in topics
        for placement in topic.get("placements", ())
    ]
    rows += [(topic.get("topic_name", ""), "", f"{topic['error']}: {topic['message']}") for topic in topics if "error" in topic]
    return fill(_placements(), rows)


def _placements() -> Table:
    return table("topic", "partition", "replicas (leader first)")


def _ranges(ids: list[int]) -> str:
    """Ascending ids, consecutive ones as a range: ``0-3 7 9-10``."""
    runs: list[list[int]] = []
    for i in ids:
        if runs and i == runs[-1][1] + 1:
            runs[-1][1] = i
        else:
            runs.append([i, i])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


COMMANDS = [
    _command("partition", "/v1/partitions", _partition_rows, "Compute the partition of each key."),
    _command(
        "assign",
        "/v1/group-assignments",
        _assign_rows,
        "Assign partitions to the members of a group.",
        descriptions.group_body,
        *descriptions.GROUP_OPTIONS,
    ),
    _command(
        "place",
        "/v1/replica-placements",
        _place_rows,
        "Place replicas on brokers.",
        descriptions.placement_body,
        *descriptions.PLACEMENT_OPTIONS,
    ),
]
