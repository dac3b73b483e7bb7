"""What ``plan`` concludes, from files as people have them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from service.cli import main

CASES = Path(__file__).parents[2] / "cases"
HOT = str(CASES / "sentence-more-partitions-make-it-worse" / "hot.csv")
KEYLESS = str(CASES / "sentence-records-without-a-key" / "keyless.jsonl")


def planned(*arguments: str) -> tuple[dict, int]:
    run = CliRunner().invoke(main, ["plan", *arguments, "--output", "json"])
    assert run.exit_code in (0, 1), run.output
    return json.loads(run.stdout), run.exit_code


def test_more_partitions_are_better_if_the_fullest_has_less():
    options = ("--records-per-second", "1000", "--max-partition-records-per-second", "180")
    answer, status = planned(HOT, "--partitions", "6,12,24,48", *options)
    (limits,) = answer["limits"]
    assert limits["conclusion"] == (
        "ACME-0001 has 13.9% of the records: no partition count brings the fullest partition below 139 records/s; with java and "
        "24 partitions, it has 176 records/s. Without this key, it would have 1.14 × the mean. 24 partitions keep the limit: the "
        "fullest partition has 176 of 180 records/s, the fewest of those planned (6, 12, 24, 48) that do."
    )
    assert (status, limits["recommended"]) == (0, 24)
    assert [round(plan["busiest"]["records_per_second"]) for plan in answer["plans"]] == [281, 210, 176, 158]
    shown = CliRunner().invoke(main, ["plan", HOT, "--partitions", "6,12,24,48", *options, "--output", "table"]).stdout
    assert "worse" not in shown
    assert "w/o hot" in shown


def test_throughput_and_hot_keys_are_joined():
    answer, status = planned(HOT, "--target-mb-per-second", "50", "--consumer-mb-per-second", "5")
    conclusion = answer["limits"][0]["conclusion"]
    assert conclusion.startswith("No count works: ACME-0001 alone writes 6.95 MB/s, one consumer reads 5. Split or drop the key.")
    assert "Of the counts proposed (10, 13, 15, 20, 30, 40, 80), none keeps the limit" in conclusion
    assert (status, answer["limits"][0]["recommended"]) == (1, None)
    answer, status = planned(HOT, "--target-mb-per-second", "30", "--consumer-mb-per-second", "5")
    assert (status, "No count works" in answer["limits"][0]["conclusion"]) == (0, False)


def test_a_limit_of_the_skew_is_said_to_be_a_ratio():
    answer, _ = planned(HOT, "--partitions", "6,12,24", "--max-skew", "2")
    conclusion = answer["limits"][0]["conclusion"]
    assert "6 partitions keep the limit: the fullest partition has 1.69 of 2 × the mean" in conclusion
    assert (
        "24 partitions exceed the limit of the skew, a ratio to a mean that shrinks, although the fullest partition would"
        in conclusion
    )
    assert "exceed" not in planned(HOT, "--partitions", "6,12", "--max-skew", "9")[0]["limits"][0]["conclusion"]


def test_records_without_a_key_are_in_every_percentage():
    options = ("--partitions", "3,6,12", "--records-per-second", "1000", "--max-partition-records-per-second", "500")
    answer, status = planned(KEYLESS, *options)
    conclusion = answer["limits"][0]["conclusion"]
    assert conclusion.startswith(
        "99% of the records have no key, which producers spread evenly; of those with a key, ACME has all. With java and 3 "
        "partitions, the fullest partition has 1.02 × the mean: the records are spread evenly. 3 partitions keep the limit"
    )
    assert (status, answer["limits"][0]["out_of_reach"]) == (0, {})
    assert answer["plans"][1]["busiest"]["records_per_second"] == pytest.approx((990 / 6 + 10) / 1000 * 1000)
    assert answer["plans"][1]["records"]["skew"] == pytest.approx(1.05)
    assert answer["hottest_keys"]["by_records"][0]["share"] == 0.01


@pytest.mark.parametrize(
    ("options", "counts"),
    [
        ((), [3, 6, 12, 24, 48, 96]),
        (("--current-partitions", "10"), [10, 20, 30, 40, 80]),
        (("--records-per-second", "1000", "--max-partition-records-per-second", "100"), [10, 13, 15, 20, 30, 40, 80]),
    ],
)
def test_counts_are_proposed(options, counts):
    answer, _ = planned(HOT, *options)
    assert [plan["partitions_count"] for plan in answer["plans"]] == counts
    conclusion = answer["limits"][0]["conclusion"]
    assert f"counts proposed ({', '.join(map(str, counts))})" in conclusion
    assert ("no limit was given" in conclusion) == (len(options) < 4)


def test_the_cause_is_named_as_its_verdict_has_it(tmp_path):
    """Spread evenly is not more evenly than by chance, and below the band of chance nothing has to be caused."""
    even = tmp_path / "even.csv"
    even.write_text("key\n" + "".join(f"customer-{i}\n" for i in range(20_000)))
    (plan,) = planned(str(even), "--partitions", "6")[0]["plans"]
    assert (plan["records"]["verdict"], plan["records"]["cause"]) == ("even", "spread evenly")
    few = tmp_path / "few.csv"
    few.write_text("key,n\n" + "".join(f"{i},90\n" for i in range(12)) + "".join(f"{12 * i},1\n" for i in range(1, 51)))
    options = ("--partitions", "12", "--partitioner", "spark:hash-partitioner", "--key-format", "int", "--records-column", "n")
    (plan,) = planned(str(few), *options)[0]["plans"]
    assert (plan["records"]["verdict"], plan["records"]["cause"]) == ("partitioner", "more even than by chance")
