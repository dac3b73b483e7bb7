"""The conclusion of an assignment says what its figures say."""

from __future__ import annotations

import json
import random
import re
from typing import Any
from uuid import UUID

from service.api.groups import FORM
from service.core.budget import Budget
from service.http.forms import Refused

WAYS = [
    *({"assignor": name} for name in ("range", "sticky", "cooperative-sticky", "cooperative-sticky", "balanced")),
    {"group_protocol": "consumer"},
    {"group_protocol": "share"},
]


def ask(body: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(FORM.json(FORM.decide(FORM.question(body), Budget())))
    return answer


def drawn(draw: random.Random) -> dict[str, Any]:
    """A group of which members own what others may claim as well or does not exist, and subscribe differently."""
    topics = [{"topic_name": name, "partitions_count": draw.randint(1, 6)} for name in "ab"]
    unlike, count = draw.random() < 0.4, draw.randint(0, 4)
    owned: list[dict[str, list[int]]] = [{} for _ in range(count)]
    for topic in topics if count and draw.random() < 0.8 else ():
        for partition in range(topic["partitions_count"] + draw.choice((0, 0, 2))):
            for member in draw.sample(range(count), min(count, draw.choice((0, 1, 1, 1, 1, 2)))):
                owned[member].setdefault(topic["topic_name"], []).append(partition)
    members: list[dict[str, Any]] = []
    for claims in owned:
        members.append({"member_id": f"c-{UUID(int=draw.getrandbits(128), version=4)}"})
        if unlike:
            members[-1]["topic_names"] = draw.choice((["a"], ["b"], ["a", "b"], ["a", "gone"]))
        if claims:
            rows = [{"topic_name": name, "partition_ids": ids} for name, ids in claims.items()]
            members[-1] |= {"generation_id": draw.choice((3, 3, 3, 2)), "owned_partitions": rows}
    return {**draw.choice(WAYS), "topics": topics, "members": members}


def holders(rows: list[dict[str, Any]], name: str) -> dict[tuple[str, int], set[str]]:
    """The members of each partition. name : of the member that lists them"""
    found: dict[tuple[str, int], set[str]] = {}
    for row in rows:
        for part in row.get(name, ()):
            for partition in part["partition_ids"]:
                found.setdefault((part["topic_name"], partition), set()).add(row["member_id"])
    return found


def test_conclusions_of_small_random_groups_are_those_of_their_figures() -> None:
    draw, moves, gone = random.Random(46), set[bool](), set[bool]()
    for _ in range(100):
        body = drawn(draw)
        try:
            answer = ask(body)
        except Refused:
            continue
        text, last = answer["conclusion"], answer.get("follow_up", answer)
        if not body["members"]:
            assert text == "There are no members, so nothing is assigned."
            continue
        counts = last["member_load"]["counts"]
        spread = re.match(r"[a-z-]+ gives ([0-9]+) members? ([0-9]+)(?: to ([0-9]+))? partitions?", text)
        assert spread, text
        assert [int(spread[1]), int(spread[2]), int(spread[3] or spread[2])] == [len(counts), min(counts), max(counts)]
        owned, now = holders(body["members"], "owned_partitions"), holders(last["assignments"], "partitions")
        exists = {(topic["topic_name"], i) for topic in body["topics"] for i in range(topic["partitions_count"])}
        before = {partition: members for partition, members in owned.items() if partition in exists}
        absent = re.search(r"; ([0-9]+) partitions? that (?:is|are) owned do(?:es)? not exist", text)
        assert int(absent[1] if absent else 0) == len(owned) - len(before), text
        said = re.search(r"; ([0-9]+) of ([0-9]+) owned partitions? (moves?|stays? with the member)", text)
        assert (said is None) == (not before)
        if said and said[3].startswith("stay"):
            stay = sum(len(members & now.get(partition, set())) for partition, members in before.items())
            assert [int(said[1]), int(said[2])] == [stay, sum(map(len, before.values()))], text
        elif said:
            moved = sum(not now.get(partition, set()) <= members for partition, members in before.items())
            assert [int(said[1]), int(said[2])] == [moved, len(before)], (text, body)
            moves.add(moved > 0)
            gone.add(absent is not None)
        nobody = re.search(r"; ([0-9]+) partitions? go(?:es)? to no member", text)
        assert int(nobody[1] if nobody else 0) == sum(len(part["partition_ids"]) for part in last["unassigned"])
        compared = ask({**body, "expected": last["assignments"]})["conclusion"]
        assert "gives exactly what is expected" in compared
        assert ("after a second rebalance" in compared) == ("follow_up" in answer)
        if now.keys() & exists:
            less = [{**row, "partitions": []} for row in last["assignments"]]
            assert f"gives {len(now.keys() & exists)} of " in ask({**body, "expected": less})["conclusion"]
    assert moves == gone == {True, False}


def test_a_lag_that_is_not_known_is_no_lag_of_zero() -> None:
    """``balanced`` gives each member as many of these partitions, whatever the load of the others, and says so."""
    loads = [10, 7, 5, 3]
    lag = {"committed_offsets": [0] * 4 + [None] * 9, "log_end_offsets": [*loads] + [50] * 9}
    topic: dict[str, Any] = {"topic_name": "t", "partitions_count": 13}
    owns = {"owned_partitions": [{"topic_name": "t", "partition_ids": [*range(13)]}]}
    members: list[dict[str, Any]] = [{"member_id": f"m{i}"} for i in range(3)]
    for first, options in (({}, {}), (owns, {}), (owns, {"max_moves": 3}), ({}, {"group_protocol": "consumer"})):
        body = {
            "assignor": "balanced",
            "topics": [{**topic, "lag": lag}],
            "members": [members[0] | first, *members[1:]],
            **options,
        }
        answer = ask(body)
        ids = [[i for part in row["partitions"] for i in part["partition_ids"]] for row in answer["assignments"]]
        unknown = [sum(i >= 4 for i in of_member) for of_member in ids]
        assert ("max_moves" in options) or unknown == [3, 3, 3]
        certificate = answer["certificate"]
        assert certificate["load"]["value"] == max(sum(loads[i] for i in of_member if i < 4) for of_member in ids) == 10
        assert certificate["moves"]["value"] == answer["movement"]["moved"]
        assert certificate["moves"]["gap"] == 0
        assert certificate["coverage"]["value"] == 13
        assert answer["warnings"][-2:] == [
            "The lag of 9 of 13 partitions is not known, for want of an offset; loads leave it out.",
            "These partitions are shared out by their number, beside the load of the others.",
        ]
    known = {"committed_offsets": [0] * 13, "log_end_offsets": [*loads] + [0] * 9}
    assert "warnings" not in ask({"assignor": "balanced", "topics": [{**topic, "lag": known}], "members": members})
