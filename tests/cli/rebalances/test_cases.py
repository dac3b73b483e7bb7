"""``partition-allocator rebalances`` for groups as people have them (tests/cases)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from service.cli import main
from service.planner.member_ids import client_id_of

CASES = Path(__file__).parents[2] / "cases"
OPERATORS = [str(CASES / "operators-cluster" / "members.txt"), "--snapshot", str(CASES / "operators-cluster" / "topics.txt")]


def asked(*words: str) -> Any:
    result = CliRunner().invoke(main, ["rebalances", *words, "--output", "json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_what_moves_depends_on_the_ids_that_new_members_draw() -> None:
    """2,000 draws of consumer-billing-1-<UUID>, by Kafka's range: 44 to 140 moves, 120 on average."""
    answer = asked(*OPERATORS, "--scale", "30")
    moved = answer["draws"]["totals"]["moved"]
    assert answer["draws"]["count"] > 50
    assert (moved["least"], moved["most"]) == (44, 140)
    assert 110 < moved["mean"] < 130
    assert moved["least"] <= answer["totals"]["moved"] <= moved["most"]
    assert {client_id_of(one["member_id"]) for one in answer["derived_member_ids"]} == {"consumer-billing-1"}


def test_a_member_that_joins_a_group_with_drawn_ids_draws_one() -> None:
    """The name of the option is only what later options call it."""
    answer = asked(*OPERATORS, "--join", "next", "--leave", "next@2m")
    (new,) = answer["derived_member_ids"]
    assert (new["first_member_id"], client_id_of(new["member_id"])) == ("next", "consumer-billing-1")
    assert answer["draws"]["totals"]["moved"]["least"] < answer["draws"]["totals"]["moved"]["most"]


def test_given_ids_stay_and_draw_nothing() -> None:
    answer = asked("--topic", "orders:12", "--members", "3", "--join", "c4", "--leave", "c1@2m")
    assert "draws" not in answer
    assert not answer["derived_member_ids"]


def shown(*words: str) -> str:
    """What a terminal shows, in one line."""
    result = CliRunner().invoke(main, ["rebalances", *words, "--output", "table"])
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split())


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("sentence-everybody-leaves/leave1.json", "From 60 s on all 6 partitions have no reader: no member is left."),
        (
            "sentence-everybody-leaves/unsub1.json",
            "From 0 s on all 2 partitions of audit have no reader: no member subscribes to",
        ),
        (
            "sentence-everybody-leaves/newtopic.json",
            "From 60 s on all 3 partitions of new have no reader: no member subscribes to",
        ),
        (
            "sentence-longest-at-most/poll10.json",
            (
                "without a reader for 75 s in all (11.2 s to 191 s, depending on when members heartbeat and poll), summed over "
                "partitions, if members poll every 10 s; the longest of a partition 19.4 s, at most 35.6 s."
            ),
        ),
    ],
)
def test_a_conclusion_is_true_of_the_end_and_of_bounds(file: str, said: str) -> None:
    """A terminal shows the conclusion of the answer, as all doors do."""
    path = str(CASES / file)
    assert said in shown(path)
    assert asked(path)["conclusion"] in shown(path)
    assert "has a reader all the time" not in shown(path)


def test_totals_are_of_what_was_asked() -> None:
    text = shown("--topic", "orders:12", "--members", "5", "--scale", "8@5m", "--poll-interval", "1s")
    assert "Scaling to 8 takes 1 rebalance; partitions are without a reader for 10.4 s in all" in text
    assert "(Starting the group: 78.6 s.)" in text


def test_an_eager_group_stands_still_and_members_says_how_long() -> None:
    """The same change has the same standstill, and the same polls, by either command."""
    answer = asked(*OPERATORS, "--scale", "30")
    assert answer["timing"]["poll_interval_ms"] == 1_000
    assert "all the time" not in answer["conclusion"]
    planned = CliRunner().invoke(main, ["member-counts", *OPERATORS, "--members-counts", "30", "--output", "json"])
    (plan,) = json.loads(planned.stdout)["plans"]
    assert plan["idle_partition_ms"] == answer["totals"]["idle_partition_ms"] > 0


def test_partitions_that_a_second_target_gives_back_are_read_again() -> None:
    """Each member that joins has a target computed: what the first one takes from a member, the next may give back."""
    answer = asked(*OPERATORS, "--group-protocol", "consumer", "--assignor", "range", "--scale", "30")
    assert answer["end"]["unread"] == []
    assert sum(member["reads"]["partitions"][-1] for member in answer["members"] if member["reads"]["partitions"]) == 144
