"""``POST /v1/reassignments:lint``: each rule finds what breaks it, and nothing else."""

from __future__ import annotations

import copy
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st

from service.app import create_app
from service.config import Settings
from service.planner.reassignments.lint import RULES, SEVERITIES

if TYPE_CHECKING:
    from flask.testing import FlaskClient

CLUSTER: dict[str, Any] = {
    "brokers": [
        {"broker_id": 0, "rack_id": "a"},
        {"broker_id": 1, "rack_id": "a"},
        {"broker_id": 2, "rack_id": "b"},
        {"broker_id": 3, "rack_id": "b"},
        {"broker_id": 4, "rack_id": "c", "fenced": True},
        {"broker_id": 5, "rack_id": "a", "draining": True},
    ],
    "topics": [
        {
            "topic_name": "t",
            "placements": [
                {"partition_id": 0, "replicas": [0, 2]},
                {"partition_id": 1, "replicas": [1, 3]},
                {"partition_id": 2, "replicas": [2, 4]},
                {"partition_id": 3, "replicas": [3, 5]},
                {"partition_id": 4, "replicas": [0, 1]},
            ],
        }
    ],
}


def linted(client: FlaskClient, *rows: tuple[str, int, list[int]], **cluster: Any) -> dict[str, Any]:
    partitions = [{"topic": topic, "partition": partition, "replicas": replicas} for topic, partition, replicas in rows]
    body = {**CLUSTER, **cluster, "reassignment": {"version": 1, "partitions": partitions}}
    answer = client.post("/v1/reassignments:lint", json=body)
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.get_json()
    assert {finding["severity"] for finding in document["findings"]} <= set(SEVERITIES)
    assert {finding["rule"] for finding in document["findings"]} <= RULES.keys()
    return document


def found(document: dict[str, Any]) -> set[tuple[str, str, str]]:
    prefix = "/reassignment/partitions"
    return {(one["severity"], one["rule"], one["pointer"].removeprefix(prefix)) for one in document["findings"]}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("t", 0, [0, 3]), set()),
        (("u", 0, [0, 2]), {("error", "unknown-topic", "/0")}),
        (("t", 9, [0, 2]), {("error", "unknown-partition", "/0")}),
        (("t", 0, [0, 0, 2]), {("error", "duplicate-replica", "/0/replicas/1"), ("warning", "replication-factor", "/0")}),
        (("t", 0, [0, 9]), {("error", "unknown-broker", "/0/replicas/1")}),
        (("t", 0, [2, 9]), {("error", "unknown-broker", "/0/replicas/1")}),
        (("t", 0, [0, 4]), {("error", "fenced-broker", "/0/replicas/1")}),
        (("t", 0, [2, 5]), {("error", "fenced-broker", "/0/replicas/1")}),
        (("t", 2, [0, 4]), {("warning", "fenced-broker", "/0/replicas/1")}),
        (("t", 2, [4, 2]), {("warning", "fenced-broker", "/0/replicas/0"), ("error", "unavailable-leader", "/0/replicas/0")}),
        (("t", 0, [0, 1]), {("error", "rack-rule", "/0")}),
        (("t", 4, [1, 0]), {("warning", "rack-rule", "/0")}),
        (("t", 0, [0, 2, 3]), {("warning", "replication-factor", "/0")}),
        (("t", 0, [0]), {("warning", "replication-factor", "/0")}),
        (("t", 0, [0, 2]), {("warning", "no-op", "/0")}),
    ],
)  # fmt: skip
def test_each_rule(client: FlaskClient, row: tuple[str, int, list[int]], expected: set[tuple[str, str, str]]) -> None:
    """One row, and all that is wrong with it; the rules about the whole cluster apart."""
    findings = {one for one in found(linted(client, row)) if one[2] or one in expected}
    assert findings == expected


def test_a_partition_twice(client: FlaskClient) -> None:
    """The second row is at fault."""
    document = linted(client, ("t", 0, [0, 3]), ("t", 1, [1, 2]), ("t", 0, [0, 2]))
    assert ("error", "duplicate-partition", "/2") in found(document)
    assert document["counts"]["error"] == 1


EVEN = {
    "brokers": [{"broker_id": i} for i in range(3)],
    "topics": [
        {"topic_name": "t", "placements": [{"partition_id": i, "replicas": [i % 2, (i + 1) % 2]} for i in range(6)]},
    ],
}


def test_a_drain_as_even_as_can_be_has_no_finding(client: FlaskClient) -> None:
    """Eight replicas on three brokers are 3, 3 and 2 at best, though on four brokers they were even."""
    four = {
        "brokers": [{"broker_id": i} for i in range(4)],
        "topics": [{"topic_name": "t", "placements": [{"partition_id": i, "replicas": [i, (i + 1) % 4]} for i in range(4)]}],
    }
    assert linted(client, ("t", 2, [2, 0]), ("t", 3, [1, 0]), **four)["findings"] == []
    assert ("warning", "skew", "") in found(linted(client, ("t", 2, [2, 1]), ("t", 3, [1, 0]), **four)), "4, 3 and 1"


def test_skew_and_moves_that_could_be_saved(client: FlaskClient) -> None:
    """Two brokers have six replicas each, a third none. Four copies make it even; six are one and a half times as many."""
    fine = linted(client, *[("t", i, [i % 2, 2]) for i in range(4)], **EVEN)
    assert fine["findings"] == []
    wasteful = linted(client, ("t", 0, [2, 0]), ("t", 1, [2, 1]), ("t", 2, [2, 0]), ("t", 3, [2, 1]), **EVEN)
    assert found(wasteful) == {("warning", "skew", "")}, "all leaders on one broker"
    rows = [("t", i, [2, 1]) for i in range(5)]
    details = [one["detail"] for one in linted(client, *rows, **EVEN)["findings"]]
    assert details[0].startswith("Preferred leaders are less even")
    fewest = "to make the cluster as even, 4 are enough (POST /v1/reassignments)."
    assert details[1] == f"The reassignment copies 5 replicas; {fewest}"


@pytest.mark.parametrize("extra", [[], [{"broker_id": 3}]])
def test_a_broker_that_ends_empty_is_judged_by_the_fewest_copies_that_empty_it(
    client: FlaskClient, extra: list[dict[str, Any]]
) -> None:
    """Draining copies each of the broker's replicas once, and so does replacing it; the evenness is that of the others."""
    cluster = {**EVEN, "brokers": [*EVEN["brokers"], *extra]}
    rows = [("t", i, [1, 2] if i % 2 else [2, 1]) for i in range(6)]
    assert linted(client, *rows, **cluster)["findings"] == []
    wasteful = linted(client, *rows[:5], ("t", 5, [2, 1]), ("u", 0, [2]), **_with_topic(cluster, [1]))
    notes = [one["detail"] for one in wasteful["findings"] if one["rule"] == "avoidable-moves"]
    fewest = "to empty broker 0 and to make the cluster as even, 6 are enough"
    assert notes == [f"The reassignment copies 7 replicas; {fewest} (POST /v1/reassignments)."]


def _with_topic(cluster: dict[str, Any], replicas: list[int]) -> dict[str, Any]:
    """The cluster with a topic u of one partition."""
    topic = {"topic_name": "u", "placements": [{"partition_id": 0, "replicas": replicas}]}
    return {**cluster, "topics": [*cluster["topics"], topic]}


def test_the_skew_before_a_drain_counts_the_broker_that_drains(client: FlaskClient) -> None:
    """The same cluster has one skew, whoever is asked: the plan that drains it, or the check of that plan."""
    brokers = [{"broker_id": i, "draining": i == 3} for i in range(4)]
    rows = [[0, 1], [0, 1], [0, 2], [3, 2]]
    topics = [{"topic_name": "t", "placements": [{"partition_id": i, "replicas": row} for i, row in enumerate(rows)]}]
    plan = client.post("/v1/reassignments", json={"brokers": brokers, "topics": topics}).get_json()
    before, after = (plan[when]["broker_load"]["replicas"] for when in ("before", "after"))
    assert (before["mean"], before["skew"]) == (2.0, 1.5)
    assert after["mean"] == pytest.approx(8 / 3)
    plain = [{"broker_id": i} for i in range(4)]
    worse = linted(client, ("t", 1, [0, 3]), ("t", 3, [0, 2]), brokers=plain, topics=topics)
    assert any("skew 1.500 becomes 2.000" in one["detail"] for one in worse["findings"])


APP: list[Flask] = []


@given(
    st.lists(st.sampled_from(list(combinations(range(3), 2))), min_size=1, max_size=3),
    st.lists(st.sampled_from([pair for pair in product(range(3), repeat=2) if pair[0] != pair[1]]), min_size=1, max_size=3),
)
def test_moves_that_could_be_saved_beside_all_placements(now: list[tuple[int, ...]], then: list[tuple[int, int]]) -> None:
    """What the note says is possible, and it stands there at least when the evenest placement of all takes fewer copies.

    Only placements that leave the brokers empty which the reassignment empties are compared.
    """
    if not APP:
        APP.append(create_app(Settings(auth="off")))
    rows = [("t", i, list(pair)) for i, pair in enumerate(then[: len(now)])]
    topics = [{"topic_name": "t", "placements": [{"partition_id": i, "replicas": list(pair)} for i, pair in enumerate(now)]}]
    document = linted(APP[0].test_client(), *rows, brokers=EVEN["brokers"], topics=topics)
    after = [set(pair) for pair in [*then[: len(now)], *now[len(then) :]]]

    def cost(placement: Any) -> tuple[int, int]:
        counts = [sum(broker in one for one in placement) for broker in range(3)]
        return sum(count**2 for count in counts), sum(len(set(one) - set(old)) for one, old in zip(placement, now, strict=True))

    uneven, copies = cost(after)
    emptied = set().union(*now) - set().union(*after)
    costs = [cost(one) for one in product(combinations(range(3), 2), repeat=len(now)) if emptied.isdisjoint(set().union(*one))]
    fewest, evenest = min(cost[1] for cost in costs if cost[0] <= uneven), min(costs)
    notes = [one["detail"] for one in document["findings"] if one["rule"] == "avoidable-moves"]
    if notes:
        assert fewest <= int(notes[0].partition("as even, ")[2].split()[0]) < copies
    else:
        assert copies <= evenest[1], "the evenest plan would save some"


def test_findings_are_bounded(client: FlaskClient) -> None:
    """At most a hundred of one rule; the counts have all."""
    document = linted(client, *[("u", i, [0, 2]) for i in range(300)])
    assert len(document["findings"]) == 100
    assert document["counts"] == {"error": 300, "warning": 0, "note": 0}


def test_as_a_table(client: FlaskClient) -> None:
    """CSV for a spreadsheet."""
    body = {**copy.deepcopy(CLUSTER), "reassignment": {"partitions": [{"topic": "u", "partition": 0, "replicas": [0]}]}}
    answer = client.post("/v1/reassignments:lint", json=body, headers={"Accept": "text/csv"})
    assert answer.text.splitlines() == [
        '"severity","rule","topic_name","partition_id","pointer","detail"',
        '"error","unknown-topic","u",0,"/reassignment/partitions/0","u-0 on broker 0: there is no such topic."',
    ]


def test_an_empty_cluster(client: FlaskClient) -> None:
    """No brokers: 422. No topics: every row is unknown. No rows: nothing."""
    body = {**CLUSTER, "reassignment": {"partitions": []}}
    assert client.post("/v1/reassignments:lint", json=body).get_json()["findings"] == []
    answer = client.post("/v1/reassignments:lint", json={**body, "brokers": [], "topics": []})
    assert [error["pointer"] for error in answer.get_json()["errors"]] == ["/brokers"]
    assert found(linted(client, ("t", 0, [0]), topics=[])) == {("error", "unknown-topic", "/0")}


def test_what_was_not_looked_for_is_said(client: FlaskClient) -> None:
    """Racks first, unless the question says that they are not known; disks, without sizes; and the rest after an error."""
    fine, in_sync = linted(client, ("t", 0, [0, 3])), "which replicas are in sync."
    disks = "disks (partition_bytes or capacity_bytes are not known) and"
    counts = [f"{count} {name}" for name, count in fine["counts"].items() if count]
    assert fine["conclusion"] == f"{' and '.join(counts)} in a reassignment of 1 partition. Not checked: {disks} {in_sync}"
    plain = {"brokers": [{"broker_id": i} for i in range(3)]}
    unknown = linted(client, ("t", 0, [2, 0]), **plain)["conclusion"]
    assert "; racks are not known (give" in unknown.partition(". ")[0]
    assert "Not checked: racks, " in unknown
    assert "not known (give" not in linted(client, ("t", 0, [2, 0]), **plain, racks="unknown")["conclusion"]
    wrong = linted(client, ("u", 0, [0, 2]))["conclusion"]
    missing = "disks, evenness and copies (not with errors of partitions)"
    assert wrong == f"1 error in a reassignment of 1 partition. Not checked: {missing} and {in_sync}"
    some = linted(client, ("t", 0, [0, 3]), brokers=[*CLUSTER["brokers"], {"broker_id": 6}])["warnings"]
    assert some[0].startswith("Broker 6 has no rack and counts as one rack")


def test_a_disk_that_would_be_too_full(client: FlaskClient) -> None:
    """What a broker gains counts, beside what else is on its disk; one that only loses may be too full."""
    topics = [{**EVEN["topics"][0], "partition_bytes": [100] * 6}]
    brokers = [
        {"broker_id": 0},
        {"broker_id": 1, "capacity_bytes": 500},
        {"broker_id": 2, "capacity_bytes": 350, "used_bytes": 60},
    ]
    found_of = [
        [one["detail"] for one in linted(client, *rows, topics=topics, brokers=brokers)["findings"] if one["rule"] == "disk"]
        for rows in ([("t", i, [0, 2]) for i in range(2)], [("t", i, [0, 2]) for i in range(3)])
    ]
    assert found_of == [[], ["Broker 2 would hold 300 bytes of replicas, 0 now, and may hold 290."]]
