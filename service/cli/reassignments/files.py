"""A plan as files: Kafka's JSON for each batch and its rollback, a text to read, and a picture."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from service.cli import BadInput
from service.cli.reassignments import tables
from service.cli.reassignments.tables import literal, number
from service.http.json.codec import dumps
from service.report.figures import curve, variables

NAMED = 4
"""Files that an error names at most."""

ROW, BAR, LEFT = 16, 320, 70
"""The height of a bar of the picture, the length of the longest, and the space for broker ids."""

_STYLE: Final = (
    variables("svg", ("soft", "card", "accent"))
    + ".paper{fill:var(--card)}text,.before{fill:var(--soft)}.before{opacity:.6}.after{fill:var(--accent)}"
)


def write_files(folder: Path, answer: dict[str, Any]) -> list[Path]:
    """Write the plan; returns the files: ``reassignment-01.json``, ``rollback-01.json`` …, ``plan.md``, ``plan.svg``, and
    ``frontier.svg`` if the answer has one.

    Raises BadInput if the folder has batches of a longer plan, which must not be executed with these.
    """
    digits, texts = batch_texts(answer)
    if answer["preferred_leader_elections"]["partitions"]:
        texts["preferred-leader-elections.json"] = dumps(answer["preferred_leader_elections"])
    texts["plan.md"] = "\n".join(_report(answer, digits)).encode()
    texts["plan.svg"] = "\n".join(_picture(answer)).encode()
    if "frontier" in answer:
        copies, spreads = ([point[name] for point in answer["frontier"]] for name in ("copies", "spread"))
        title = "The evenest load with each number of copies"
        texts["frontier.svg"] = curve(title, ("replicas copied", copies), ("most - least", spreads)).encode()
    return write_texts(folder, texts)


def batch_texts(answer: dict[str, Any]) -> tuple[int, dict[str, bytes]]:
    """The digits of the batches' numbers, and the files of the batches."""
    digits = max(2, len(str(len(answer["batches"]))))
    texts: dict[str, bytes] = {}
    for i, batch in enumerate(answer["batches"], 1):
        for name in ("reassignment", "rollback"):
            texts[f"{name}-{i:0{digits}}.json"] = dumps(batch[name])
    return digits, texts


def write_texts(folder: Path, texts: dict[str, bytes]) -> list[Path]:
    """Write the files of a plan; returns them. Raises BadInput if the folder has batches of a longer plan."""
    folder.mkdir(parents=True, exist_ok=True)
    ours = ("reassignment-[0-9]*.json", "rollback-[0-9]*.json", "preferred-leader-elections.json")
    others = sorted({path.name for pattern in ours for path in folder.glob(pattern)} - texts.keys())
    if others:
        named = f"{', '.join(others[:NAMED])}{' …' if len(others) > NAMED else ''}"
        raise BadInput(f"{folder} has files of another plan: {named}. Choose another folder, or delete them.")
    for name, text in texts.items():
        (folder / name).write_bytes(text + b"\n")
    return [folder / name for name in texts]


MOVES: Final = {"topic_name": "topic", "partition_id": "partition", "from": "from", "to": "to", "reason": "reason"}
"""The fields of a move, and the heads of their columns."""

COPIED: Final = "replicas copied"


def head(answer: dict[str, Any], title: str) -> Iterator[str]:
    """How the text of a plan begins: its conclusion, what it does besides, and what to know before."""
    yield from (f"# {title} {answer['plan_id']}", "")
    yield from (literal(answer["conclusion"]), "")
    yield from (f"- {literal(sentence)}" for sentence in answer["effects"])
    if answer["warnings"]:
        yield from ("", "Before you execute it:", "", *(f"- **{literal(sentence)}**" for sentence in answer["warnings"]))


def commands(answer: dict[str, Any], digits: int, throttle: str, advice: Sequence[str]) -> Iterator[str]:
    """What executes the plan, and what takes it back. throttle : the option; advice : what to know of it"""
    limit, numbers = answer["throttle_bytes_per_second"], range(1, len(answer["batches"]) + 1)
    elects = bool(answer.get("preferred_leader_elections", {}).get("partitions"))
    yield from ("", *advice)
    for name, heading, order in (
        ("reassignment", "", numbers),
        ("rollback", "To go back, roll back the batches that have begun, the last first:", reversed(numbers)),
    )[: 1 if answer.get("rollback_needs") else 2]:
        yield from ("", heading, "", "```sh") if heading else ("", "```sh")
        for i in order:
            limited = f"{throttle} {limit} " if limit and answer["batches"][i - 1]["moves"] else ""
            for action in (f"{limited}--execute", "--verify"):
                file = f"{name}-{i:0{digits}}.json"
                yield f'kafka-reassign-partitions --bootstrap-server "$BOOTSTRAP" --reassignment-json-file {file} {action}'
        if elects:
            yield (
                'kafka-leader-election --bootstrap-server "$BOOTSTRAP" --election-type preferred '
                "--path-to-json-file preferred-leader-elections.json"
            )
        yield "```"


def _report(answer: dict[str, Any], digits: int) -> Iterator[str]:
    moves, throttle = answer["moves"], answer["throttle_bytes_per_second"]
    yield from head(answer, "Reassignment")
    yield from ("", "In figures:", "")
    yield f"- Objective: {answer['objective']}"
    yield f"- Replicas copied: {number(moves['replicas'])}" + (
        "" if moves["bytes"] is None else f" ({number(moves['bytes'])} bytes)"
    )
    yield f"- Lower bound: {number(moves['lower_bound'])}"
    evenness = answer["goals"]["evenness"]
    yield f"- Sum of squares of the brokers' loads ÷ weight: {evenness['value']:.6g}, {evenness['gap']:.2%} above a lower bound"
    yield f"- Preferred leaders that change: {moves['leaders']}"
    yield f"- Preferred leader elections: {moves['elections']}"
    yield from ("", "![Replicas of each broker before and after](plan.svg)", "", "## Batches", "")
    yield from tables.batches(answer, COPIED).markdown()
    stays = "`--verify` also takes the throttle off, which stays on the brokers and topics if you leave it out."
    none = "The plan has no throttle: `--throttle` with `--execute` keeps the copying from slowing down clients."
    repeat = "Repeat `--verify` until each reassignment of the batch is complete; only then execute the next batch."
    yield from commands(answer, digits, "--throttle", (repeat, stays if throttle else none))
    if answer.get("frontier"):
        yield from ("", "## Copies against evenness", "", "![The spread with each number of copies](frontier.svg)", "")
        yield from tables.frontier(answer["frontier"]).markdown()
    yield from ("", "## Brokers", "", *tables.brokers(answer).markdown())
    yield from ("", "## Moves", "", *tables.moves(answer, MOVES).markdown())


def _picture(answer: dict[str, Any]) -> Iterator[str]:
    """Two bars for each broker: its replicas before, grey, and after, blue."""
    before, after = answer["before"]["broker_load"], answer["after"]["broker_load"]
    ids, old, new = before["broker_ids"], before["replicas"]["counts"], after["replicas"]["counts"]
    longest = max([1, *old, *new])
    height = 30 + len(ids) * (2 * ROW + 8)
    size = f'width="{LEFT + BAR + 90}" height="{height}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">'
    yield f"<title>Replicas of each broker before and after</title><style>{_STYLE}</style>"
    yield '<rect class="paper" width="100%" height="100%"/>'
    yield f'<text x="{LEFT}" y="16">replicas before</text><text x="{LEFT + 100}" y="16" class="after">after</text>'
    yield f'<text x="{LEFT - 8}" y="16" text-anchor="end">broker</text>'
    for i, broker_id in enumerate(ids):
        top = 26 + i * (2 * ROW + 8)
        yield f'<text x="{LEFT - 8}" y="{top + ROW + 4}" text-anchor="end">{broker_id}</text>'
        for at, count, when in ((top, old[i], "before"), (top + ROW, new[i], "after")):
            width = round(BAR * count / longest, 1)
            yield f'<rect x="{LEFT}" y="{at}" width="{width}" height="{ROW - 2}" class="{when}"/>'
            yield f'<text x="{LEFT + width + 6}" y="{at + ROW - 4}">{count}</text>'
    yield "</svg>"
