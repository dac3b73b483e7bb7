"""Twenty real runs of brokers and clients: the script that caused what happened is the truth (``tests/vectors/histories``)."""

import gzip
import json
from io import BytesIO
from pathlib import Path

import pytest

from service.core.budget import Budget
from service.core.errors import InvalidQuestion
from service.histories.answer import HistoryQuestion, answer
from service.histories.reading import HistorySource

FOLDER = Path(__file__).parents[1] / "vectors" / "histories"
RUNS = sorted(each.name for each in FOLDER.iterdir() if each.is_dir())
SOURCES = {
    "log and records": ("broker", "records"),
    "all": ("broker", "records", "formatted", "c1", "c2", "c3", "e1", "e2", "snapshots"),
}


def told(run, group, prefixes):
    files = [each for each in sorted((FOLDER / run).iterdir()) if each.name.startswith(prefixes)]
    try:
        return answer(HistoryQuestion(group, [HistorySource(each.name, BytesIO(each.read_bytes())) for each in files]), Budget())
    except InvalidQuestion:
        return None


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
                if each.check is not None and each.rebalance.protocol == "classic":
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
