"""What ``reassign`` concludes from what people paste: the words, the exit status, and the files."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from service.cli import main
from tests.support.golden import PROJECT

if TYPE_CHECKING:
    from pathlib import Path

CASES = PROJECT / "tests" / "cases"
NO_RACKS = "racks are not known (give the rack_id of brokers, by --rack 1:a, a table of racks or a snapshot; --racks unknown"


def planned(case: str, file: str, *options: str) -> tuple[int, dict[str, Any]]:
    """The exit status and the answer of ``reassign`` for a file of a case."""
    ended = CliRunner().invoke(main, ["reassign", str(CASES / case / file), *options])
    assert ended.exit_code in (0, 1), ended.stderr
    return ended.exit_code, json.loads(ended.stdout)


@pytest.mark.parametrize(
    ("case", "arguments", "status", "conclusion"),
    [
        (
            "sentence-drain-with-exclusions",
            "topics.txt --drain 3 --excluded-topics audit --racks unknown",
            1,
            (
                "Broker 3 keeps 2 replicas, of audit (excluded), and leads 1: it is not empty afterwards. "
                "Changes the placement with 2 copies, the fewest possible."
            ),
        ),
        (
            "sentence-drain-with-exclusions",
            "topics.txt --drain 3 --included-topics orders --racks unknown",
            1,
            (
                "Broker 3 keeps 2 replicas, of audit (excluded), and leads 1: it is not empty afterwards. "
                "Changes the placement with 2 copies, the fewest possible."
            ),
        ),
        (
            "sentence-drain-with-exclusions",
            "topics.txt --drain 3 --excluded-topics *",
            1,
            (
                "Broker 3 keeps 4 replicas, of orders, audit (excluded), and leads 2: it is not empty afterwards. "
                "Nothing changes: each of the 6 partitions is excluded."
            ),
        ),
        (
            "sentence-drain-with-exclusions",
            "topics.txt --drain 3 --racks unknown",
            0,
            "Empties broker 3 with 4 copies, the fewest possible: its 4 replicas of the 2 topics given leave.",
        ),
        (
            "sentence-drain-of-an-offline-partition",
            "offline.txt --drain 3 --racks unknown",
            1,
            (
                "orders-1 and pay-0 have no leader, so they cannot be copied until a replica is back; broker 3 is "
                "empty only then. Changes the placement with 3 copies (2 of them wait for a leader), the fewest possible."
            ),
        ),
        (
            "sentence-unknown-broker-while-it-leaves",
            "running.txt --drain 3 --racks unknown",
            0,
            (
                "Broker 3 is being emptied: 2 reassignments are in progress (orders-0 and orders-1), which this plan takes as "
                "done. Nothing is left to plan."
            ),
        ),
        (
            "sentence-unknown-broker-while-it-leaves",
            "running.txt --racks unknown",
            0,
            (
                "Nothing changes: no rule asks for a copy of the 2 partitions given. "
                "2 reassignments are in progress (orders-0 and orders-1), which this plan takes as done."
            ),
        ),
        (
            "sentence-demote-after-failover",
            "failover.txt --demote 2",
            0,
            (
                "Broker 2 leads 2 partitions now, none of which prefers it, and 0 afterwards: run a preferred leader election "
                "for orders-0 and orders-1."
            ),
        ),
        (
            "sentence-demote-after-failover",
            "elected.txt --demote 2",
            0,
            (
                "Broker 2 leads 4 partitions now, and 0 afterwards: run a preferred leader election for orders-0, orders-1, "
                "audit-0 and 1 more."
            ),
        ),
        (
            "sentence-demote-after-failover",
            "failover.txt --demote 2 --excluded-topics orders",
            1,
            (
                "Broker 2 still leads 2 partitions afterwards, 2 now: orders-0 and orders-1 (excluded). "
                "Nothing changes: each of the 3 partitions is excluded."
            ),
        ),
        (
            "sentence-tolerance-of-ten-percent",
            "tolerance.json --tolerance 0.1 --racks none",
            0,
            (
                "Changes the placement with 1 copy, the fewest possible to bring every broker within 10% of the mean, rounded "
                "outwards to whole replicas (1 to 3 each)."
            ),
        ),
        (
            "sentence-tolerance-of-ten-percent",
            "tolerance.json --tolerance 0.5 --racks none",
            0,
            "Changes the placement with 1 copy, the fewest possible to bring every broker within 50% of the mean.",
        ),
        (
            "sentence-tolerance-of-ten-percent",
            "tolerance.json --add 5 --racks none",
            0,
            (
                "Brokers 4, 5 stay empty, for the fewest moves fill no broker: objective = even would give them about 3 of the 8 "
                "replicas, as far as the rules allow."
            ),
        ),
    ],
)
def test_the_conclusion_and_the_exit_status(case: str, arguments: str, status: int, conclusion: str) -> None:
    """Printed in a table first, and the same words in the answer."""
    file, *options = arguments.split()
    assert planned(case, file, *options)[0] == status
    assert planned(case, file, *options)[1]["conclusion"] == conclusion
    shown = CliRunner().invoke(main, ["reassign", str(CASES / case / file), *options, "--output", "table"])
    assert (" ".join(shown.stdout.split("\n\n")[0].split()), shown.exit_code) == (conclusion, status)


def test_a_paste_without_any_leader() -> None:
    """As ``kafka-topics --describe --unavailable-partitions`` has them: -1 in the body, whereas null would say nothing."""
    topic = "Topic: t\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: "
    lines = f"{topic}\n\tTopic: t\tPartition: 0\tLeader: none\tReplicas: 3\tIsr: 3"
    ended = CliRunner().invoke(main, ["reassign", "--drain", "3", "--add", "4"], input=lines)
    assert ended.exit_code == 1
    answer = json.loads(ended.stdout)
    waits = "t-0 has no leader, so it cannot be copied until a replica is back; broker 3 is empty only then."
    assert answer["conclusion"].startswith(waits)
    assert answer["after"]["broker_load"]["current_leaders"] == [0, 0]


def test_racks_that_are_not_known_are_said_before_a_file_is_written(tmp_path: Path) -> None:
    """Neither with racks, nor where nobody asks for them."""
    topics, racks = (str(CASES / "operators-cluster" / name) for name in ("topics.txt", "racks.csv"))
    told = CliRunner().invoke(main, ["reassign", topics, "--drain", "7", "--out", str(tmp_path)])
    assert told.stderr.startswith(
        "Read 40 topics (805 partitions) on 12 brokers. Racks are not known.\n"
        "Empties broker 7 with 209 copies, the fewest possible: its 209 replicas of the 40 topics given"
    )
    assert told.stderr.index(NO_RACKS) < told.stderr.index("wrote")
    assert "racks are not known (give" in (tmp_path / "plan.md").read_text()
    for options in (["--snapshot", racks], ["--racks", "unknown"], ["--racks", "none"]):
        answer = json.loads(CliRunner().invoke(main, ["reassign", topics, "--drain", "7", *options]).stdout)
        assert "not known" not in answer["conclusion"]
        assert not [each for each in answer["warnings"] if "no rack" in each]


def test_leaders_of_partitions_that_are_not_drained_stay() -> None:
    """209 copies leave broker 7, and 4 mend three partitions; ``--leaders balance`` asks for more."""
    _, answer = planned(
        "operators-cluster", "topics.txt", "--drain", "7", "--snapshot", str(CASES / "operators-cluster/racks.csv")
    )
    assert answer["moves"]["replicas"] == 213
    reasons = Counter(move["reason"] for move in answer["reasons"])
    assert {move["from"] for move in answer["reasons"] if move["reason"] == "leader"} == {7}
    assert (reasons["drains broker 7"], reasons["rack rule"]) == (209, 4)
    mends = "Of the 213 copies, 209 leave broker 7 and 4 keep the rack rule of audit-log-2, audit-log-5 and returns-0."
    assert answer["effects"][0] == mends


def test_no_way_back_to_a_broker_that_is_gone(tmp_path: Path) -> None:
    """Broker 3 is in sync with nothing. A broker that serves can be rolled back to."""
    never = "There is no way back while broker 3 is gone: the rollback files need it."
    options = ("--add", "4", "--replace", "3=4", "--out")
    _, answer = planned("sentence-rollback-to-a-gone-broker", "gone.txt", *options, str(tmp_path / "gone"))
    assert (answer["warnings"], answer["rollback_needs"]) == ([never], [3])
    report = (tmp_path / "gone" / "plan.md").read_text()
    assert never in report
    assert "To go back" not in report
    _, answer = planned("sentence-drain-with-exclusions", "topics.txt", *options, str(tmp_path / "serves"))
    assert (answer["warnings"], answer["rollback_needs"]) == ([], [])
    assert "To go back" in (tmp_path / "serves" / "plan.md").read_text()


def test_brokers_without_a_rack_where_others_have_one() -> None:
    """As Kafka's own tool refuses them."""
    options = ("--rack", "1:a", "--rack", "2:b", "--drain", "6")
    _, answer = planned("racks-of-some-brokers", "topics.txt", *options)
    assert answer["warnings"] == [
        (
            "Brokers 3, 4, 5, 6 have no rack and count as one rack; Kafka's own tool refuses such a cluster "
            "(Not all brokers have rack information)."
        )
    ]
    assert planned("racks-of-some-brokers", "topics.txt", *options, "--racks", "none")[1]["warnings"] == []


def test_a_time_without_write_rates_is_the_least() -> None:
    """And the rate from which on it never ends."""
    case, throttle = "sentence-time-without-write-rates", ("--throttle", "1000000")
    takes = planned(case, "time.json", *throttle)[1]["effects"][-1]
    assert takes.startswith("Takes at least 12,502 s in 1 batch")
    assert takes.endswith("write rates are not known, and with 800,000 bytes/s written to what one broker copies it never ends.")
    assert planned(case, "time-rates.json", *throttle)[1]["effects"][-1].startswith("Takes about 25,002 s in 1 batch")


def test_a_report_calls_a_bound_a_bound(tmp_path: Path) -> None:
    """The fewest is 100 bytes; 63 is a bound."""
    file = str(CASES / "sentence-fewest-possible-tile" / "bound.json")
    assert CliRunner().invoke(main, ["reassign", file, "--into", str(tmp_path / "bound")]).exit_code == 0
    report = (tmp_path / "bound" / "report.html").read_text()
    assert "lower bound" in report
    assert "fewest possible</" not in report
    drained = str(CASES / "sentence-drain-with-exclusions" / "topics.txt")
    assert CliRunner().invoke(main, ["reassign", drained, "--drain", "3", "--into", str(tmp_path / "fewest")]).exit_code == 0
    assert "fewest possible" in (tmp_path / "fewest" / "report.html").read_text()


def test_a_description_without_topics_is_refused() -> None:
    """Whatever is to be drained."""
    ended = CliRunner().invoke(main, ["reassign", "--drain", "3"], input="broker,rack\n1,a\n3,c\n")
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert "The description has no topic with its placement." in ended.stderr


def test_place_and_lint_say_first_that_racks_are_not_known(tmp_path: Path) -> None:
    """Unless there are racks, or the question accepts it; ``lint`` has one row for all that is wrong in the same way."""
    topics, racks = (str(CASES / "operators-cluster" / name) for name in ("topics.txt", "racks.csv"))
    moves = [{"topic": "orders", "partition": i, "replicas": [1, 4, 7]} for i in range(3)]
    file = tmp_path / "moves.json"
    file.write_text(json.dumps({"version": 1, "partitions": moves}, indent=1))
    place = ["place", topics, "--topic", "new:4", "--replication-factor", "3"]
    lint = ["lint", str(file), "--snapshot", topics]
    for command, with_racks in ((place, ["--snapshot", racks]), (lint, ["--snapshot", racks])):
        for options in ([], with_racks, ["--racks", "unknown"]):
            ended = CliRunner().invoke(main, [*command, *options, "--output", "json"])
            first = json.loads(ended.stdout)["conclusion"].partition(". ")[0]
            assert (NO_RACKS in first) == (not options), (command, options)
    shown = CliRunner().invoke(main, [*lint, "--snapshot", racks, "--output", "table"])
    assert shown.exit_code == 1
    assert shown.stdout.startswith("3 errors in a reassignment of 3 partitions. Not checked: disks, ")
    rows = [line for line in shown.stdout.splitlines() if "rack-rule" in line]
    assert len(rows) == 1
    assert "orders-0" in rows[0]
