"""Twenty real runs of brokers and clients: the script that caused what happened is the truth (``tests/vectors/histories``)."""

import gzip
import json
from datetime import datetime
from io import BytesIO
from pathlib import Path

import pytest

from service.core.errors import InvalidQuestion
from service.decisions.budget import Budget
from service.histories.answer import HistoryQuestion, answer
from service.histories.reading import HistorySource

FOLDER = Path(__file__).parents[1] / "vectors" / "histories"
RUNS = sorted(each.name for each in FOLDER.iterdir() if each.is_dir())
WEAKER = {
    "leave": {"leave_or_expiry"},
    "session_expired": {"leave_or_expiry"},
    "poll_interval_exceeded": {"leave", "leave_or_expiry", "session_expired"},
    "new_partitions": {"leader_metadata", "topic_metadata", "subscription_or_topics"},
    "subscription": {"subscription_or_topics"},
}
"""What is true of an event, too, if its sources tell no more. A consumer group's coordinator is not told why a member leaves."""

STEPS = {"unknown", "cooperative_revocation"}
AFTER_MS = 35_000
"""Longest time from an event to its rebalance: a session expires, a leader looks at metadata."""

SOURCES = {
    "log": ("broker",),
    "records": ("records",),
    "formatted": ("formatted",),
    "log and records": ("broker", "records"),
    "log and clients": ("broker", "c1", "c2", "c3", "e1", "e2"),
    "all": ("broker", "records", "formatted", "c1", "c2", "c3", "e1", "e2", "snapshots"),
}


def ms(text):
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def told(run, group, prefixes):
    files = [each for each in sorted((FOLDER / run).iterdir()) if each.name.startswith(prefixes)]
    try:
        return answer(HistoryQuestion(group, [HistorySource(each.name, BytesIO(each.read_bytes())) for each in files]), Budget())
    except InvalidQuestion:
        return None


@pytest.mark.parametrize("which", SOURCES)
@pytest.mark.parametrize("run", RUNS)
def test_no_cause_is_invented_and_none_is_missed(run, which):
    truth = json.loads((FOLDER / run / "truth.json").read_text())
    for group, of_group in truth["groups"].items():
        history = told(run, group, SOURCES[which])
        if history is None:
            assert which in {"records", "formatted"}
            continue
        names = {member_id: name for name, member in of_group["members"].items() for member_id in member["member_ids"]}
        names |= {member["instance_id"]: name for name, member in of_group["members"].items() if member["instance_id"]}
        events = [each for each in truth["events"] if each.get("group_id") == group and each["causes"]]
        found = set()
        for cause, at_ms in (
            (cause, each.rebalance.at_ms) for each in history.told for cause in each.rebalance.causes if cause.kind not in STEPS
        ):
            members = {names.get(each) or history.names(each) for each in cause.members}
            caused = [
                (event["at"], true)
                for event in events
                for true in event["causes"]
                if cause.kind in {true, *WEAKER.get(true, ())}
                and (not members or event.get("member") is None or event["member"] in members)
                and (at_ms is None or -500 <= at_ms - ms(event["at"]) <= AFTER_MS)
            ]
            assert caused, (group, cause.kind, members, at_ms)
            found |= set(caused)
        missed = {(event["at"], true) for event in events for true in event["causes"]} - found
        unknown = history.missing + sum(
            not each.rebalance.causes or each.rebalance.causes[0].kind == "unknown" for each in history.told
        )
        if (run, which) != ("migration", "formatted"):  # the formatter prints no records of consumer groups
            assert len(missed) <= unknown, (group, missed)


@pytest.mark.parametrize(
    ("run", "group", "kind", "members"),
    [
        ("java-cooperative-rolling", "payments", "rolling_restart", {"c1", "c2", "c3"}),
        ("librdkafka-surge", "orders", "surge", {"a1", "a2", "a3"}),
        ("librdkafka-flapping", "audit", "flapping", {"c3", "c4"}),
        ("java-comes-and-goes", "payments", "comes_and_goes", {"c3"}),
        ("java-comes-and-goes", "payments", "slow_polls", {"c3"}),
    ],
)
def test_patterns(run, group, kind, members):
    history = told(run, group, SOURCES["log and records"])
    assert members in [{*each.members} for each in history.patterns if each.kind == kind]
    others = {each.kind for each in history.patterns} - {kind, "comes_and_goes", "slow_polls"}
    assert not others


def test_runs_without_a_pattern_have_none():
    assert not told("java-range", "orders", SOURCES["all"]).patterns
    assert not told("old-sticky-changes", "payments", SOURCES["log and records"]).patterns


def test_every_assignment_of_a_record_is_that_of_its_library():
    for run in RUNS:
        for group in json.loads((FOLDER / run / "truth.json").read_text())["groups"]:
            history = told(run, group, ("records",))
            for each in () if history is None else history.told:
                if each.check is not None:
                    assert each.check.clients, (run, each.check.sentence)
                    assert each.check.alike or "rdkafka" in run
    history = told("librdkafka-cooperative", "payments", ("records",))
    assert history.told[1].check.sentence == (
        "No: kafka-clients' cooperative-sticky would give payments.t-0 to c1, not to no member (6 of 6 partitions differ); "
        "that of librdkafka and sarama does."
    )


def test_otherwise():
    files = [FOLDER / "java-comes-and-goes" / name for name in ("broker.log.gz", "records.txt.gz")]
    sources = [HistorySource(each.name, BytesIO(each.read_bytes())) for each in files]
    replayed = answer(HistoryQuestion("payments", sources, otherwise=True), Budget()).otherwise
    ways = {each.name: each for each in replayed.ways}
    assert ways["static members"].rebalances < ways["as it was, simulated"].rebalances
    assert ways["time-outs twice as long"].rebalances == 2  # c3 polled again within 16 s: only the joins are left
    assert replayed.conclusion.startswith(
        "The simulation of the same events takes 7 rebalances, the sources tell of 8. Of the ways"
    )
    alone = answer(
        HistoryQuestion("payments", [HistorySource("log", BytesIO(gzip.decompress(files[0].read_bytes())))], otherwise=True),
        Budget(),
    )
    assert not alone.otherwise.ways
    assert "records tell it" in alone.otherwise.conclusion
