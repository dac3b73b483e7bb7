"""The summary of ``fleet``, from the rows that executors wrote."""

from __future__ import annotations

import json
import random
import re

import pyarrow as pa

from service.pipeline.analyses.fleet import assignments, summary
from service.pipeline.analyses.fleet.outcome import conclusion


def test_the_order_of_the_rows_decides_nothing() -> None:
    """Tasks end in any order: sums of fractions, and groups that are alike, come out the same."""
    draw = random.Random(5)
    counts = {"members": 3, "warnings": [], "follow_up_rebalance": False, **dict.fromkeys(summary.SUMS, 1)}
    rows = [
        {
            **counts,
            "group_id": draw.choice([None, "a", "b"]),
            "group_protocol": "classic",
            "assignor": draw.choice(["range", "sticky"]),
            "own": True,
            "partitions": draw.randrange(100),
            "settled_skew": draw.choice([1.0, 1.1, draw.uniform(1, 3)]),
        }
        for _ in range(200)
    ]
    failed = [{**rows[0], "settled_skew": None, "error": "KafkaError", "detail": f"{i}"} for i in range(30)]
    wrong = [{"error": assignments.WRONG_ROW, "detail": "no body"}]
    texts = set()
    for _ in range(5):
        table = pa.Table.from_pylist(draw.sample(everything := [*rows, *failed, *wrong], len(everything)), assignments.RESULT)
        texts.add(json.dumps(summary.of_groups(table.select(summary.GROUP_COLUMNS))))
    (text,) = texts
    result, curves = json.loads(text)
    assert (result["groups"], result["wrong_rows"], sum(each["failed"] for each in result["assignors"])) == (230, 1, 30)
    assert [row["skew"] for row in result["most_skewed"]] == sorted((row["settled_skew"] for row in rows), reverse=True)[
        : summary.NAMED
    ]
    assert curves["classic:range"][-1] == max(row["settled_skew"] for row in rows if row["assignor"] == "range")


def result(group: str, name: str, skew: float | None, *, own: bool = False, **more: object) -> dict[str, object]:
    protocol, _, assignor = name.partition(":")
    row = {"group_id": group, "group_protocol": protocol, "assignor": assignor, "own": own, "settled_skew": skew, "skew": skew}
    counts = {"members": 3, "partitions": 9, "warnings": [], "follow_up_rebalance": False, **dict.fromkeys(summary.SUMS, 1)}
    return {**counts, **row, **more}


def of(*rows: dict[str, object]) -> dict[str, object]:
    table = pa.Table.from_pylist(list(rows), assignments.RESULT)
    return summary.of_groups(table.select(summary.GROUP_COLUMNS))[0]


def test_assignors_are_compared_over_the_same_groups() -> None:
    """Those of a protocol over its groups; one that was tried on all groups over all of them, with the groups' own."""
    by_protocol = of(
        result("a", "classic:range", 3.0, own=True), result("a", "classic:sticky", 1.0),
        result("b", "classic:sticky", 1.0, own=True), result("b", "classic:range", 2.0),
        result("c", "consumer:uniform", 2.5, own=True), result("c", "consumer:range", 4.0),
    )  # fmt: skip
    classic = {"group_protocol": "classic", "groups": 2, "own_over_twice": 1}
    consumer = {"group_protocol": "consumer", "groups": 1, "own_over_twice": 1}
    assert by_protocol["comparisons"] == [
        {**classic, "assignors": ["classic:range", "classic:sticky"]},
        {**consumer, "assignors": ["consumer:range", "consumer:uniform"]},
    ]
    assert [row["over_twice"] for row in by_protocol["assignors"]] == [1, 0, 1, 1]
    assert conclusion({"groups": by_protocol}) == (
        "With range, 1 of 2 classic groups loads a member with over twice the mean; with sticky, 0. "
        "With range, 1 of 1 consumer group loads a member with over twice the mean."
    )
    of_all = of(
        result("a", "classic:range", 3.0, own=True), result("a", "consumer:uniform", 1.0),
        result("b", "consumer:range", 3.0, own=True), result("b", "consumer:uniform", 2.5),
    )  # fmt: skip
    assert [(each["groups"], each["assignors"]) for each in of_all["comparisons"]] == [
        (2, ["consumer:uniform"]), (1, ["classic:range"]), (1, ["consumer:range"]),
    ]  # fmt: skip


def test_the_most_uneven_groups_name_the_best_that_any_assignor_gives() -> None:
    rows = (result("a", "classic:range", 3.0, own=True), result("a", "classic:sticky", 1.5))
    assert [(row["skew"], row["best_skew"]) for row in of(*rows)["most_skewed"]] == [(3.0, 1.5)]
    assert [row["best_skew"] for row in of(*rows, *rows)["most_skewed"]] == [None, None], "which of the two is not known"


def test_no_group_over_twice_the_mean_is_reported() -> None:
    even = of(result("a", "classic:range", 2.0, own=True), result("a", "classic:sticky", 1.0))
    assert conclusion({"groups": even}) == "With each of the 2 assignors, no member of the 1 group has over twice the mean."
    failed = of(result("a", "classic:sticky", None, own=True, error="KafkaError", detail="x"))
    assert conclusion({"groups": failed}) == "1 group: 1 assignment would fail in Kafka."


def test_the_conclusion_counts_the_groups_that_each_assignor_assigns() -> None:
    said = set()
    for seed in range(200):
        draw = random.Random(seed)
        names = draw.sample(["classic:range", "classic:sticky", "classic:roundrobin"], draw.randint(1, 3))
        groups, rows = draw.randint(1, 6), []
        skews = {(group, name): draw.choice([None, 1.0, 2.0, 3.0]) for group in range(groups) for name in names}
        for (group, name), skew in skews.items():
            error = {} if skew is not None else {"error": "KafkaError", "detail": "x"}
            rows.append(result(f"g{group}", name, skew, own=name == names[0], **error))
        wrong = draw.choice([0, 0, 1, 3])
        text = conclusion({"groups": of(*rows, *[{"error": assignments.WRONG_ROW, "detail": "no body"}] * wrong)})
        found = re.search(r"(\d+) rows? (?:was|were) rejected", text)
        assert int(found[1] if found else 0) == wrong, (seed, text)
        failed = sum(skew is None for skew in skews.values())
        found = re.search(r"(\d+) assignments? would fail", text)
        assert int(found[1] if found else 0) == failed, (seed, text)
        over = {name: sum((skews[i, name] or 0) > 2 for i in range(groups)) for name in names}
        assigned = {name: sum(skews[i, name] is not None for i in range(groups)) for name in names}
        if found := re.match(
            r"With (\w+), (\d+) of (\d+) (?:classic )?groups? .*?(?:; with (\w+), (\d+)(?: of (\d+))?)?\.", text
        ):
            worst, best = f"classic:{found[1]}", f"classic:{found[4]}"
            assert (int(found[2]), int(found[3])) == (max(over.values()), assigned[worst]), (seed, text)
            assert found[4] is None or (int(found[5]), int(found[6] or found[3])) == (min(over.values()), assigned[best])
            said.add("over twice")
        elif "no member" in text:
            assert not any(over.values()), (seed, text)
            assert ("that it assigns" in text) == (failed > 0), (seed, text)
            said.add("none")
        else:
            assert not any(assigned.values()), (seed, text)
    assert said == {"over twice", "none"}
