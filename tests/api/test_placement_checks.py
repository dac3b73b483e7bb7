"""``POST /v1/placement-checks``: what it says of each partition, judged one by one on random clusters, and its sentences."""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING, Any

from service.planner.placement_checks import AT_RISK, SEVERITIES
from tests.api.test_reassignment_conclusions import drawn

if TYPE_CHECKING:
    from flask.testing import FlaskClient

PATH = "/v1/placement-checks"
BROKERS = [{"broker_id": i, "rack_id": "aabb"[i]} for i in range(4)]
FINE = {"partition_id": 0, "replicas": [0, 2, 1], "in_sync_replicas": [0, 2, 1], "leader": 0}


def checked(client: FlaskClient, *placements: dict[str, Any], brokers: Any = BROKERS, **topic: Any) -> dict[str, Any]:
    rows = [{**FINE, "partition_id": i, **placement} for i, placement in enumerate(placements)]
    topic = {"topic_name": "t", "min_insync_replicas": 2, "placements": rows, **topic}
    answer = client.post(PATH, json={"brokers": brokers, "topics": [topic]})
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json
    return document


def possible_racks(brokers: list[dict[str, Any]], replicas: list[int]) -> set[bool]:
    """Is it rack-safe? The answers for all racks that the brokers without one could have."""
    unknown = [broker["broker_id"] for broker in brokers if "rack_id" not in broker]
    unknown += {*replicas} - {broker["broker_id"] for broker in brokers}
    known = {broker["broker_id"]: broker["rack_id"] for broker in brokers if "rack_id" in broker}
    if not known:
        return {True, len(replicas) == 1}
    names = [*set(known.values()), *range(min(len(unknown), len(replicas)))]
    answers = set()
    for drawn_racks in product(names, repeat=len(unknown)):
        racks = known | dict(zip(unknown, drawn_racks, strict=True))
        answers.add(len({racks[i] for i in replicas}) >= min(len(replicas), len(set(racks.values()))))
    return answers


def rules_of(body: dict[str, Any], topic: dict[str, Any], placed: dict[str, Any], *, leaders: bool) -> set[str]:
    """The rules that a partition breaks, but for that of racks. leaders : is it known who leads?"""
    serving = {broker["broker_id"] for broker in body["brokers"] if not broker.get("fenced")}
    in_sync = [i for i in placed["replicas"] if i in placed.get("in_sync_replicas", placed["replicas"]) and i in serving]
    in_sync += [i for i in placed.get("adding_replicas", ()) if i in serving and i not in in_sync]
    leader, least = placed.get("leader"), topic.get("min_insync_replicas", 1)
    if leader is None or (leader != -1 and leader not in serving):
        leader = next((i for i in placed["replicas"] if i in in_sync), -1)
    broken = {"unavailable"} if leader == -1 else set[str]()
    broken |= {"under-replicated"} if len(in_sync) < len(placed["replicas"]) else set()
    if leader != -1:
        broken |= {"under-min-isr"} if len(in_sync) < least else {"at-min-isr"} if len(in_sync) == least else set()
        broken |= {"preferred-leader"} if leaders and leader != placed["replicas"][0] else set()
    return broken


def test_each_partition_of_random_clusters(client: FlaskClient) -> None:
    """Each finding is true, nothing is left out, and the sentences have the numbers of the findings."""
    seen = set[str]()
    for seed in range(200):
        question = drawn(seed)
        topics = [topic | ({"min_insync_replicas": 1 + seed % 3} if seed % 4 else {}) for topic in question["topics"][:1]]
        body = {"brokers": question["brokers"], "topics": [*topics, *question["topics"][1:]]}
        answer = client.post(PATH, json=body).json
        found: dict[tuple[str, int], set[str]] = {}
        for finding in answer["findings"]:
            for partition_id in finding["partition_ids"]:
                found.setdefault((finding["topic_name"], partition_id), set()).add(finding["rule"])
        placements = {(t["topic_name"], p["partition_id"]): (t, p) for t in body["topics"] for p in t["placements"]}
        leaders = any("leader" in placed for _, placed in placements.values())
        unsafe, unsure = 0, 0
        for key, (topic, placed) in placements.items():
            rules = found.get(key, set()) - {"replication-factor"}
            expected = rules_of(body, topic, placed, leaders=leaders)
            assert rules - {"rack-unsafe"} == expected, (seed, key)
            racks = possible_racks(body["brokers"], placed["replicas"])
            assert ("rack-unsafe" not in rules) or racks == {False}, (seed, key)
            unsafe, unsure = unsafe + (racks == {False}), unsure + (len(racks) == 2)
            seen |= rules
        counts = {rule: sum(rule in rules for rules in found.values()) for rule in SEVERITIES}
        assert unsafe <= counts["rack-unsafe"] + answer["racks_unknown"], seed
        assert unsure <= answer["racks_unknown"], seed
        assert answer["at_risk"] == any(counts[rule] for rule in AT_RISK), seed
        said = [int(number) for number in re.findall(r"(\d+) of \d+ partitions? (?:is|are|has|have)", answer["conclusion"])]
        assert said == [counts[rule] for rule in AT_RISK if counts[rule]], (seed, answer["conclusion"])
        assert ("at risk" in answer["conclusion"]) == (not answer["at_risk"]), seed
        no_racks = not any("rack_id" in broker for broker in body["brokers"])
        assert ("racks are not known" in answer["conclusion"]) == (no_racks and answer["racks_unknown"] > 0), seed
        assert ("rack-safe" not in answer["conclusion"]) or not no_racks, seed
    assert seen >= AT_RISK.keys() | {"preferred-leader"}


def test_nothing_is_at_risk_only_of_what_was_looked_at(client: FlaskClient) -> None:
    whole = (
        "Nothing is at risk in 1 partition: it has a leader, all its replicas in sync, more of them than min.insync.replicas and "
        "is on as many racks as its replicas allow."
    )
    assert checked(client, {})["conclusion"] == whole
    assert checked(client, {})["warnings"] == []
    assumed = checked(client, {}, min_insync_replicas=None)
    assert "min.insync.replicas (1, Kafka's default, where it is not given)" in assumed["conclusion"]
    two = checked(client, {"replicas": [0, 2], "in_sync_replicas": [0, 2]}, min_insync_replicas=None)
    assert two["warnings"][0].endswith("if it is 2, one more failure stops writes with acks=all to 1 more partition.")
    unknown = checked(client, {"in_sync_replicas": None, "leader": None})["conclusion"]
    assert unknown.startswith("Nothing is known to be at risk in 1 partition: it is on as many racks")
    assert unknown.endswith("Which replicas are in sync is not known.")
    gone = checked(client, {"replicas": [0, 2, 9], "in_sync_replicas": None, "leader": None})
    assert gone["findings"][1]["detail"] == "at most 2 in sync; min.insync.replicas is 2"
    assert "1 of 1 partition has at most min.insync.replicas in sync, so one more failure" in gone["conclusion"]
    some = checked(client, {}, {"in_sync_replicas": None, "leader": None})
    assert "Which replicas of 1 partition are in sync is not known." in some["conclusion"]
    assert (some["at_risk"], some["in_sync_unknown"]) == (False, 1)
    plain = checked(client, {}, brokers=[{"broker_id": i} for i in range(4)])
    assert "racks are not known (give the rack_id" in plain["conclusion"]
    assert "rack-safe" not in plain["conclusion"]
    assert checked(client, placements=[])["conclusion"] == "No partition was given, so nothing was checked."


def test_partitions_without_a_leader_are_not_denied_to_have_too_few_replicas_in_sync(client: FlaskClient) -> None:
    answer = checked(client, {}, {"in_sync_replicas": [0]}, {"in_sync_replicas": [], "leader": -1})
    assert answer["conclusion"].startswith(
        "1 of 3 partitions has no leader: t 2. 1 of 3 partitions has a leader and fewer replicas in sync than min.insync.replicas"
    )


def test_partitions_are_named_by_topic(client: FlaskClient) -> None:
    """Equal ones are one finding; of many the first are named."""
    alone = {"replicas": [0, 1], "in_sync_replicas": [0, 1], "leader": 1}
    answer = checked(client, *[alone] * 7, {}, min_insync_replicas=1)
    assert answer["conclusion"] == "7 of 8 partitions are not rack-safe: t 0, 1, 2, 3, 4 and 2 more."
    assert answer["findings"][0] == {
        "severity": "warning",
        "rule": "rack-unsafe",
        "topic_name": "t",
        "partition_ids": [*range(7)],
        "broker_ids": [0, 1],
        "detail": "on 1 rack; 2 are possible",
    }
    assert answer["warnings"] == [
        "7 of 8 partitions are not led by the preferred leader: t 0, 1, 2, 3, 4 and 2 more.",
        "Replication factors differ: 7 partitions with 2 replicas and 1 partition with 3 replicas.",
    ]
    assert answer["brokers"][1] == {"broker_id": 1, "rack_id": "a", "replicas": 8, "leaders": 7, "preferred_leaders": 0}
    rows = client.post(
        PATH,
        json={"brokers": BROKERS, "topics": [{"topic_name": "t", "placements": [{"partition_id": 3, "replicas": [0, 1]}]}]},
        headers={"Accept": "text/csv"},
    ).text.splitlines()
    assert rows == [
        '"severity","rule","topic_name","detail","partition_id"',
        '"warning","rack-unsafe","t","on 1 rack; 2 are possible",3',
    ]


def test_the_rest_of_what_is_said(client: FlaskClient) -> None:
    one_rack = checked(client, {}, brokers=[{"broker_id": i, "rack_id": "a"} for i in range(4)])
    assert one_rack["warnings"] == ["All brokers are on rack a, so no partition outlasts it."]
    running = checked(client, {"replicas": [0, 2, 3], "adding_replicas": [3], "removing_replicas": [1]})
    assert running["conclusion"].startswith("Nothing is known to be at risk in 1 partition")
    assert running["conclusion"].endswith("1 reassignment is in progress, which this takes as done: t 0.")
    some = checked(client, {}, brokers=[*BROKERS[:3], {"broker_id": 3}])
    assert some["conclusion"].endswith("Whether 1 partition is rack-safe is not known: the rack of broker 3 is not known either.")
