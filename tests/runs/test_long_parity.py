"""The long comparison with Kafka's own classes draws the same groups again, finds what differs, and makes it small."""

from __future__ import annotations

import dataclasses
from itertools import count, islice, pairwise
from random import Random

import pytest

from service.core.assignors.classic import roundrobin
from service.core.kafka_versions import LATEST
from tests.runs import long_parity
from tests.runs.long_parity import SUBJECTS, Case, Comparison, Differs, Kafka, life, nearly_endless, ours
from tests.support import golden
from tests.support.parity import group_leader


@pytest.fixture
def comparison():
    comparison = Comparison(seed=3)
    yield comparison
    comparison.close()


def test_a_group_of_a_seed_is_always_the_same():
    for number in range(12):
        one, again, other = (list(life(seed, number)) for seed in (5, 5, 6))
        assert one == again
        assert one != other or not one[0].body["members"]


def test_answers_become_what_the_next_rebalance_begins_with():
    lives = [list(life(1, number)) for number in range(len(SUBJECTS) * 2)]
    assert max(map(len, lives)) == 10
    for cases in lives:
        for before, after in pairwise(cases):
            had = {one["member_id"]: one["partitions"] for one in before.ours["assignments"]}
            stayed = [member for member in after.body["members"] if member["member_id"] in had]
            if stayed:
                assert any(member["owned_partitions"] == had[member["member_id"]] for member in stayed)


@pytest.mark.slow
def test_every_assignor_answers_as_kafka_does(comparison):
    comparison.run(150)
    assert comparison.counts.total() == 150
    assert {subject for subject, _ in comparison.counts} == {str(subject) for subject in SUBJECTS}
    assert not comparison.counts.keys() - {(str(subject), what) for subject in SUBJECTS for what in Comparison.COLUMNS}


@pytest.mark.slow
def test_a_difference_is_found_and_made_small(comparison, monkeypatch):
    """An assignor that is not the class that it says it is: two members and two topics tell them apart."""
    wrong = dataclasses.replace(SUBJECTS[0].assignor, run=roundrobin.assign)
    monkeypatch.setattr(long_parity, "SUBJECTS", (dataclasses.replace(SUBJECTS[0], assignor=wrong),))
    with pytest.raises(Differs, match=rf"classic range {LATEST}, group \d+, rebalance \d") as raised:
        comparison.run(300)
    smallest = comparison.shrunk(raised.value)
    assert smallest.case.ours == ours(smallest.case.subject, smallest.case.body)
    assert smallest.case.ours != smallest.kafkas
    assert len(smallest.case.body["members"]) <= 2
    assert sum(topic["partitions_count"] for topic in smallest.case.body["topics"]) <= 4


@pytest.mark.slow
def test_what_we_call_endless_does_not_end_on_the_jvm(comparison):
    """The recorded groups, and two that are drawn; a group that is only said to be endless is found out."""
    endless = [line["request"] for line in golden.lines("groups/endless")]
    sticky = SUBJECTS[2]
    drawn = (nearly_endless(Random(seed)) for seed in count())
    endless += islice((body for body in drawn if ours(sticky, body) == {"apart": "endless"}), 2)
    comparison.PATIENCE = 0.2
    for body in endless:
        comparison.take(Case(0, 0, sticky, body, ours(sticky, body)))
    comparison.finish()
    assert comparison.counts == {(f"classic sticky {LATEST}", "endless"): 4}
    quick = next(life(1, 2))
    comparison.take(dataclasses.replace(quick, ours={"apart": "endless"}))
    with pytest.raises(Differs) as raised:
        comparison.finish()
    assert comparison.shrunk(raised.value) is raised.value


@pytest.mark.slow
def test_a_jvm_that_thinks_for_too_long_is_given_up_and_the_next_one_answers():
    kafka = Kafka(group_leader.__wrapped__, patience=0.5)
    case = next(life(1, 2))
    cases = [case, dataclasses.replace(case, body=next(golden.lines("groups/endless"))["request"]), case]
    for one in cases:
        kafka.ask(one)
    answers = [kafka.answer() for _ in cases]
    kafka.close()
    assert [one for one, _ in answers] == cases
    assert [answer for _, answer in answers] == [case.ours, None, case.ours]
