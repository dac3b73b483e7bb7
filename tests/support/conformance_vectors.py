"""Chooses the vectors that ``partition-allocator conform`` asks first: ``python -m tests.support.conformance_vectors``.

Of each assignor and partitioner a few that are short, evenly from all that are recorded; those that a library leaves to chance
are left out. The whole collection must lie beside the project.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from service.clients.connect import PROTOCOLS
from service.conformance.subjects import PartitionerSubject, subject_of
from service.core.partitioners import PARTITIONERS
from service.strategies import GROUP_PROTOCOLS, KAFKAS
from tests.support import golden

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE = Path(__file__).parents[2] / "service" / "conformance" / "vectors.jsonl.gz"
LONGEST = 2_000
LONGEST_OF_CONNECT = 6_500
GROUPS, OF_OTHER_CLIENTS, OF_CONNECT, OF_KEYS, KEYS = 24, 12, 6, 4, 12


def spread(lines: list[Any], most: int) -> list[Any]:
    return [lines[i * len(lines) // most] for i in range(most)] if len(lines) > most else lines


def is_certain(vector: dict[str, Any]) -> bool:
    """Does the service know of no other answer that the library may give?"""
    expected = subject_of(vector["subject"], {}).expected(vector["request"])
    return expected is not None and not expected.chance


def groups() -> Iterator[dict[str, Any]]:
    for protocol, registry in GROUP_PROTOCOLS.items():
        for assignor in registry.builtins:
            own = assignor in KAFKAS.get(protocol, ())
            base = f"groups/{protocol}-{assignor.name}" if own else f"clients/{assignor.name.replace(':', '-')}"
            try:
                lines = [line for name in ((base, f"{base}-sequences") if own else (base,)) for line in golden.lines(name)]
            except FileNotFoundError:
                continue
            fitting = []
            for line in lines:
                request = {name: line["request"][name] for name in ("topics", "members")}
                if line.get("nondeterministic") or {*line, *line["request"]} & {"options", "balance_racks", "client_version"}:
                    continue
                known = line["expected"]
                expected = {"error": "fails"} if "error" in known else {"assignments": known["assignments"]}
                request |= {"group_protocol": protocol, "assignor": assignor.name}
                vector = {"subject": f"{protocol}/{assignor.name}", "id": line["id"], "source": line["source"]}
                fitting.append({**vector, "request": request, "expected": expected})
            short = [vector for vector in fitting if len(json.dumps(vector)) <= LONGEST and is_certain(vector)]
            yield from spread(short, GROUPS if own else OF_OTHER_CLIENTS)


def connect() -> Iterator[dict[str, Any]]:
    for each in PROTOCOLS:
        fitting = []
        for line in golden.lines(f"releases/4.3.1/connect-{each.name}"):
            request = dict(line["request"])
            leader = {"leader_id": request.pop("leader_id")}
            request["rounds"] = [
                leader | {name: row[name] for name in ("at_ms", "connectors", "workers")} for row in request["rounds"]
            ]
            vector = {"subject": f"connect/{each.name}", "id": line["id"], "source": line["source"]}
            fitting.append({**vector, "request": request, "expected": line["expected"]})
        yield from spread([vector for vector in fitting if len(json.dumps(vector)) <= LONGEST_OF_CONNECT], OF_CONNECT)


def keys() -> Iterator[dict[str, Any]]:
    recorded: dict[str, list[dict[str, Any]]] = {}
    for file in sorted((golden.WHOLE / "partitions").glob("*.jsonl")):
        for line in golden.lines(f"partitions/{file.stem}"):
            if "partitioner" in line.get("request", {}) and "partitions" in line.get("expected", {}):
                recorded.setdefault(line["request"]["partitioner"], []).append(line)
    for partitioner in PARTITIONERS:
        fitting = []
        for line in recorded.get(partitioner.name, ()):
            request = line["request"]
            if partitioner.hash is None or request.get("key_format", "string") != PartitionerSubject(partitioner).key_format:
                continue
            if request.keys() - {"partitioner", "partitions_count", "key_format", "keys"}:
                continue
            pairs = zip(request["keys"], line["expected"]["partitions"], strict=True)
            kept = [pair for pair in pairs if pair[0]][:KEYS]
            short = {**request, "keys": [key for key, _ in kept]}
            vector = {"subject": f"partitioner/{partitioner.name}", "id": line["id"], "source": line["source"]}
            fitting.append({**vector, "request": short, "expected": {"partitions": [partition for _, partition in kept]}})
        yield from spread([vector for vector in fitting if vector["request"]["keys"]], OF_KEYS)


def main() -> None:
    lines = [json.dumps(vector, separators=(",", ":")) for vector in (*groups(), *connect(), *keys())]
    FILE.write_bytes(gzip.compress("\n".join(lines).encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
