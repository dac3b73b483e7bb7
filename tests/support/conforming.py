"""A program for ``partition-allocator conform``: real libraries behind its protocol of lines, or one that is wrong.

``python -m tests.support.conforming java | connect | franz-go | broken | silent | hasty | babbling | unending |
closing``
"""

from __future__ import annotations

import base64
import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Body = dict[str, Any]


def java() -> Callable[[str, Body], Body]:
    """Kafka's own classic assignors, on a JVM."""
    from service.strategies import GROUP_PROTOCOLS  # noqa: PLC0415 - what the other programs do not need
    from tests.support.parity import group_leader  # noqa: PLC0415

    def answer(_: str, request: Body) -> Body:
        implementation = GROUP_PROTOCOLS["classic"][request["assignor"]].implementation
        assert implementation is not None
        return group_leader().assign(implementation.symbol, request)

    return answer


def connect() -> Callable[[str, Body], Body]:
    """Connect's own workers and leaders, on a JVM. What they run is what they were told before."""
    from tests.support.task_groups import connect_workers  # noqa: PLC0415 - as above

    return lambda _, request: connect_workers().ask({"scheduled_rebalance_max_delay_ms": 300_000, **request})


def franz_go() -> Callable[[str, Body], Body]:
    """franz-go's balancers."""
    from tests.support.clients import Library, of_go  # noqa: PLC0415 - as above

    library = Library(of_go("franz-go"))

    def answer(_: str, request: Body) -> Body:
        name = request["assignor"].partition(":")[2]
        (of,) = library.assign(name, {**request, "balance_racks": False})["answers"]
        rows = [
            {"member_id": member, "partitions": [{"topic_name": topic, "partition_ids": ids} for topic, ids in topics.items()]}
            for member, topics in of.items()
        ]
        return {"assignments": rows}

    return answer


def broken() -> Callable[[str, Body], Body]:
    """Ranges, in which static members do not come first; murmur2 of the bytes in reverse; and leaders of Connect that
    give each connector's tasks to the workers after its own.
    """

    def answer(operation: str, request: Body) -> Body:
        if operation == "connect-assignments":
            return {"rounds": [{"assignments": shared_out(round_)} for round_ in request["rounds"]]}
        if operation == "partitions":
            keys = [base64.b64decode(key) for key in request["keys"]]
            return {"partitions": [sum(key[::-1]) % request["partitions_count"] for key in keys]}
        if any("partition_racks" in topic for topic in request["topics"]):
            return {"unsupported": "racks"}
        rows: dict[str, list[Body]] = {member["member_id"]: [] for member in request["members"]}
        every = [topic["topic_name"] for topic in request["topics"]]
        for topic in request["topics"]:
            name, count = topic["topic_name"], topic["partitions_count"]
            members = sorted(m["member_id"] for m in request["members"] if name in m.get("topic_names", every))
            start = 0
            for i, member in enumerate(members):
                size = count // len(members) + (i < count % len(members))
                rows[member].append({"topic_name": name, "partition_ids": list(range(start, start + size))})
                start += size
        return {"assignments": [{"member_id": member, "partitions": parts} for member, parts in rows.items()]}

    return answer


def shared_out(round_: Body) -> list[Body]:
    """Connectors in the order of their names, each with its tasks, to workers in turn."""
    rows: list[Body] = [{"member_id": each["member_id"], "connectors": [], "tasks": []} for each in round_["workers"]]
    turn = 0
    for connector in sorted(round_["connectors"], key=lambda each: each["connector_name"]):
        rows[turn % len(rows)]["connectors"].append(connector["connector_name"])
        for task in range(connector["tasks_count"]):
            turn += 1
            rows[turn % len(rows)]["tasks"].append({"connector_name": connector["connector_name"], "task_ids": [task]})
        turn += 1
    return rows


def silent() -> Callable[[str, Body], Body]:
    """Never answers."""
    return lambda *_: time.sleep(600) or {}


def hasty() -> Callable[[str, Body], Body]:
    """Ends at the first question."""
    return lambda *_: sys.exit(3)


def babbling() -> Callable[[str, Body], Body]:
    """Writes something else before its answers, as what logs to standard output."""

    def answer(*_: object) -> Body:
        sys.stdout.write("DEBUG assigning\n")
        return {"assignments": []}

    return answer


def unending() -> Callable[[str, Body], Body]:
    """Writes an answer without the end of its line."""

    def answer(*_: object) -> Body:
        sys.stdout.write('{"id": 1, "partitions": [')
        sys.stdout.flush()
        time.sleep(600)
        return {}

    return answer


def closing() -> Callable[[str, Body], Body]:
    """Closes its output, and goes on."""

    def answer(*_: object) -> Body:
        os.close(sys.stdout.fileno())
        time.sleep(600)
        return {}

    return answer


PROGRAMS = {
    "java": java, "connect": connect, "franz-go": franz_go,
    "broken": broken, "silent": silent, "hasty": hasty, "babbling": babbling,
    "unending": unending, "closing": closing,
}  # fmt: skip
IMPLEMENTS = {
    "java": ["classic/range", "classic/roundrobin", "classic/sticky", "classic/cooperative-sticky"],
    "connect": ["connect/eager", "connect/compatible", "connect/sessioned"],
    "franz-go": [f"classic/franz-go:{name}" for name in ("range", "roundrobin", "sticky", "cooperative-sticky")],
}


def main(name: str) -> None:
    answer = PROGRAMS[name]()
    for line in sys.stdin:
        question = json.loads(line)
        if "conform" in question:
            told: Body = {"conform": 1, "implements": IMPLEMENTS.get(name, [])}
        else:
            told = {"id": question["id"], **answer(question["operation"], question["request"])}
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
