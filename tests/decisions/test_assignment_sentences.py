"""The conclusion of an assignment says what its figures say."""

from __future__ import annotations

import json
import random
import re
from typing import Any

from service.api.groups import FORM
from service.decisions.budget import Budget
from service.web.forms import Refused


def ask(body: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(FORM.json(FORM.decide(FORM.question(body), Budget())))
    return answer


def drawn(draw: random.Random) -> dict[str, Any]:
    """A group, some of whose members own what others may claim as well, and of whose topics some have no reader."""
    topics = [{"topic_name": name, "partitions_count": draw.randint(1, 6)} for name in "ab"]
    names = ["a"] if draw.random() < 0.2 else ["a", "b"]
    owners = [draw.randint(0, 4) for _ in range(topics[0]["partitions_count"])]
    members = [
        {"member_id": f"m{i}", "topic_names": names}
        | ({"generation_id": 1, "owned_partitions": [{"topic_name": "a", "partition_ids": ids}]} if ids else {})
        for i in range(draw.randint(0, 4))
        for ids in [[partition for partition, owner in enumerate(owners) if owner == i]]
    ]
    assignor = draw.choice(("range", "sticky", "cooperative-sticky", "balanced"))
    return {"assignor": assignor, "topics": topics, "members": members}


def test_conclusions_of_small_random_groups_are_those_of_their_figures() -> None:
    draw, moves = random.Random(46), set()
    for _ in range(200):
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
        owner = {i: m["member_id"] for m in body["members"] for p in m.get("owned_partitions", ()) for i in p["partition_ids"]}
        now = {
            i: each["member_id"]
            for each in last["assignments"]
            for part in each["partitions"]
            if part["topic_name"] == "a"
            for i in part["partition_ids"]
        }
        moved = re.search(r"; ([0-9]+) of ([0-9]+) owned partitions? moves?", text)
        assert (moved is None) == (not owner)
        if moved:
            assert [int(moved[1]), int(moved[2])] == [sum(now.get(i) != name for i, name in owner.items()), len(owner)], text
            moves.add(int(moved[1]) > 0)
        nobody = re.search(r"; ([0-9]+) partitions? go(?:es)? to no member", text)
        assert int(nobody[1] if nobody else 0) == sum(len(part["partition_ids"]) for part in last["unassigned"])
    assert moves == {True, False}


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
