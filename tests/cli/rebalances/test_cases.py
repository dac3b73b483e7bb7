"""``partition-allocator rebalances`` for groups as people have them (tests/cases)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from service.cli import main
from service.core.member_ids import client_id_of

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
