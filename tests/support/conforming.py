"""A program for ``partition-allocator conform``: real libraries behind its protocol of lines, or one that is wrong.

``python -m tests.support.conforming java | franz-go | broken | silent | hasty | babbling``
"""

from __future__ import annotations

import base64
import json
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Body = dict[str, Any]


def java() -> Callable[[str, Body], Body]:
    """Kafka's own classic assignors, on a JVM."""
    from service.core.assignors import GROUP_PROTOCOLS  # noqa: PLC0415 - what the other programs do not need
    from tests.support.parity import group_leader  # noqa: PLC0415

    def answer(_: str, request: Body) -> Body:
        implementation = GROUP_PROTOCOLS["classic"][request["assignor"]].implementation
        assert implementation is not None
        return group_leader().assign(implementation.symbol, request)

    return answer


def franz_go() -> Callable[[str, Body], Body]:
    """franz-go's balancers."""
    from tests.support.clients import Library  # noqa: PLC0415 - as above
    from tests.support.clients import franz_go as program  # noqa: PLC0415

    library = Library(program())

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
    """Ranges, in which static members do not come first; and murmur2 of the bytes in reverse."""

    def answer(operation: str, request: Body) -> Body:
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


PROGRAMS = {"java": java, "franz-go": franz_go, "broken": broken, "silent": silent, "hasty": hasty, "babbling": babbling}
IMPLEMENTS = {
    "java": ["classic/range", "classic/roundrobin", "classic/sticky", "classic/cooperative-sticky"],
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
