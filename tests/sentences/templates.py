"""The templates of sentences in the source, and in which answers each appears.

A family has a file: ``bodies``, its inputs, and ``templates``, the numbers of the bodies whose answer has the sentence; it must
not appear in the others. ``unreached`` says why a template has no body. ``python -m tests.sentences.templates`` writes the
numbers anew; the difference is to be read: a number that comes or goes says that the sentence is now said of that body, or no
longer.
"""

from __future__ import annotations

import ast
import gzip
import json
import random
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from service.api import form_of
from service.core.budget import Budget
from service.decisions.fingerprints import FingerprintQuestion
from service.decisions.fingerprints import answer as fingerprint
from service.decisions.partitions import PartitionsQuestion
from service.decisions.partitions import answer as partitions_of
from service.descriptions import upgrades
from service.descriptions.pasted import read_description
from service.live.findings import Finding
from service.live.findings import conclusion as of_findings
from service.pipeline.analyses.fleet.outcome import conclusion as of_fleet
from service.pipeline.analyses.mismatch.outcome import conclusion as of_mismatch
from service.pipeline.spark.load.report import conclusion as of_load
from service.pipeline.spark.offsets.report import conclusion as of_offsets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDER: Final = Path(__file__).parent
VECTORS: Final = FOLDER.parent / "vectors" / "histories"

WORDS: Final = 3
"""Fewest words of a text that counts as a template; shorter ones are parts of others."""

SOURCES: Final = {
    "/v1/reassignments": (
        "service.decisions.reassignments.answer", "service.planner.reassignments.effects",
        "service.planner.reassignments.model", "service.decisions.reassignments.answer",
    ),
    "/v1/reassignments:lint": ("service.planner.reassignments.lint",),
    "/v1/placement-checks": ("service.planner.placement_checks",),
    "/v1/placement-audits": ("service.planner.placement_audits",),
    "/v1/replica-placements": ("service.decisions.placements.answer", "service.core.measures"),
    "/v1/log-dir-plans": ("service.planner.log_dirs.effects",),
    "/v1/partition-count-plans": ("service.planner.sizing.conclusions", "service.planner.sizing.plans"),
    "/v1/partitioner-fingerprints": ("service.planner.attribution.conclusions",),
    "/v1/partitioner-comparisons": ("service.api.comparisons",),
    "/v1/co-partitionings": ("service.api.co_partitionings",),
    "/v1/keyless-distributions": ("service.api.keyless",),
    "/v1/group-assignments": ("service.decisions.groups.answer",),
    "/v1/member-count-plans": ("service.decisions.member_counts.conclusions",),
    "/v1/group-rebalances": ("service.decisions.rebalances.conclusions",),
    "/v1/group-histories": (
        "service.histories.conclusions", "service.histories.patterns", "service.histories.checks",
        "service.histories.otherwise", "service.histories.clocks",
    ),
    "/v1/connect-assignments": ("service.decisions.connect",),
    "/v1/streams-assignments": ("service.decisions.streams.answer",),
    "/v1/descriptions": ("service.descriptions.answers",),
    "upgrade": ("service.descriptions.upgrades",),
    "verify": ("service.live.findings",),
    "fleet": ("service.pipeline.analyses.fleet.outcome:conclusion",),
    "mismatch": ("service.pipeline.analyses.mismatch.outcome:conclusion",),
    "load": ("service.pipeline.spark.load.report:conclusion",),
    "offsets": ("service.pipeline.spark.offsets.report:conclusion",),
}  # fmt: skip
"""The modules that make the sentences of a family (a path of the API, or a command), or a function in one, with what it uses."""


def _of_upgrade(body: dict[str, Any]) -> Any:
    description = read_description(body["text"])
    before, after = (upgrades.Software.read(body[end]) for end in ("before", "after"))
    return upgrades.document(upgrades.upgrade(description, before, after, body.get("client")))


def _of_history(body: dict[str, Any]) -> Any:
    """``run``: a recorded run, whose texts are the files that begin with one of ``files``; ``lines``: some of the first."""
    names = body.get("names", [])
    texts = body.get("texts", [])
    if "run" in body:
        files = sorted(each for each in (VECTORS / body["run"]).iterdir() if each.name.startswith(tuple(body["files"])))
        names, contents = [each.name for each in files], [each.read_bytes() for each in files]
        texts = [(gzip.decompress(text) if text[:2] == b"\x1f\x8b" else text).decode(errors="replace") for text in contents]
    if "lines" in body:
        lines = texts[0].splitlines(keepends=True)
        texts[0] = "".join(line for first, end in body["lines"] for line in lines[first:end])
    if "replace" in body:
        texts[0] = texts[0].replace(*body["replace"])
    form = form_of("/v1/group-histories")
    asked = {"group_id": body["group_id"], "texts": texts, "names": names, "otherwise": body.get("otherwise", False)}
    return form.document(form.decide(form.question(asked), Budget()))


def _of_fingerprint(body: dict[str, Any]) -> Any:
    """``written``: (partitioner, count, keys) of each writer; ``chance``, ``keyless`` and ``modulo`` are none."""
    keys, partitions = list[Any](), list[int]()
    for writer, count, number in body["written"]:
        of_writer: list[Any] = [f"key-{len(keys) + i}" for i in range(number)]
        if writer == "modulo":
            of_writer = [7 * i + 1000 for i in range(number)]
            partitions += [key % count for key in of_writer]
        elif writer in ("chance", "keyless"):
            draw = random.Random(number)
            partitions += [draw.randrange(count) for _ in of_writer]
        else:
            question = PartitionsQuestion(writer, partitions_count=count, keys=of_writer)
            partitions += partitions_of(question, Budget()).result.partitions.tolist()
        keys += (
            [None] * number
            if writer == "keyless"
            else [body["wrapped"].format(key) for key in of_writer]
            if "wrapped" in body
            else of_writer
        )
    return fingerprint(FingerprintQuestion(keys, np.array(partitions, np.int32), **body.get("question", {})), Budget()).conclusion


ANSWERS: Final[dict[str, Callable[[Any], Any]]] = {
    "/v1/group-histories": _of_history,
    "/v1/partitioner-fingerprints": _of_fingerprint,
    "upgrade": _of_upgrade,
    "verify": lambda body: of_findings([Finding(**each) for each in body]),
    "fleet": of_fleet,
    "mismatch": of_mismatch,
    "load": of_load,
    "offsets": of_offsets,
}
"""How what is not simply the body of a request is asked."""


def templates(family: str) -> dict[str, list[str]]:
    """The texts of a family's modules in which values are filled in, and their parts between the values, in lower case."""
    found = {}
    for name in SOURCES[family]:
        module, _, function = name.partition(":")
        tree = ast.parse(Path(str(import_module(module).__file__)).read_text(encoding="utf-8"))
        for text in _texts(_used_by(function, tree) if function else tree):
            if len(re.findall(r"(?<!\S)[A-Za-z]{2,}", text.replace("{}", " "))) >= WORDS:
                found[text] = text.lower().split("{}")
    return found


def _used_by(function: str, tree: ast.Module) -> ast.Module:
    """What a function uses of its module, itself included."""
    of_names = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    of_names |= {
        node.target.id: node for node in tree.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    used, waiting = dict[str, ast.stmt](), [function]
    while waiting:
        name = waiting.pop()
        if name in of_names and name not in used:
            used[name] = of_names[name]
            waiting += [node.id for node in ast.walk(used[name]) if isinstance(node, ast.Name)]
    return ast.Module(list(used.values()), [])


def says(line: str, parts: list[str]) -> bool:
    """Has the line these parts, one after the other? A pattern with ``.*?`` between them takes ten times as long."""
    at = 0
    for part in parts:
        found = line.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True


def _texts(tree: ast.AST) -> Iterator[str]:
    """Every text but docstrings, what is raised, what describes the API, and parts of other texts; {} for a value."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            continue
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in (
            "InvalidQuestion",
            "check",
            "Operation",
        ):
            continue
        if isinstance(node, ast.ClassDef) and any(getattr(base, "id", "").endswith("Schema") for base in node.bases):
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.sub(r"{\w*}", "{}", node.value)
        elif isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
            for part in node.values:
                yield from _texts(part)
        else:
            yield from _texts(node)


@cache
def table(family: str) -> dict[str, Any]:
    """The file of a family."""
    content: dict[str, Any] = json.loads(file_of(family).read_text(encoding="utf-8"))
    return content


def file_of(family: str) -> Path:
    """Where the bodies and the numbers are."""
    return FOLDER / f"{re.sub(r'/v1/|:', '', family)}.json"


def sentences(family: str, body: Any) -> list[str]:
    """All texts of the answer."""
    if family in ANSWERS:
        answer = ANSWERS[family](body)
    else:
        form = form_of(family)
        answer = json.loads(form.json(form.decide(form.question(body), Budget()), full=True))
    return list(_strings(answer))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        yield from _strings(each)


def appearances(family: str) -> dict[str, list[int]]:
    """For each template the numbers of the bodies in whose answers it is."""
    told = [{line.lower() for text in sentences(family, body) for line in text.split("\n")} for body in table(family)["bodies"]]
    return {
        text: [i for i, lines in enumerate(told) if any(says(line, parts) for line in lines)]
        for text, parts in templates(family).items()
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


_LINES: Final = ",\n  "


def main() -> None:
    """Write the numbers anew."""
    for family in SOURCES:
        content = table(family)
        rows = [f"{_json(text)}: {numbers}" for text, numbers in appearances(family).items()]
        bodies, unreached = _LINES.join(map(_json, content["bodies"])), _json(content["unreached"])
        parts = f'"bodies": [\n  {bodies}\n], "unreached": {unreached}, "templates": {{\n  '
        file_of(family).write_text(f"{{{parts}{_LINES.join(rows)}\n}}}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
