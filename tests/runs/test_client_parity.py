"""The long comparison with other clients' libraries compares, and finds what differs."""

from __future__ import annotations

import dataclasses

import pytest

from service.core.assignors.classic import roundrobin
from service.strategies import GROUP_PROTOCOLS
from tests.runs import franz_go_parity, leader_parity
from tests.runs.client_groups import Differs
from tests.runs.librdkafka_parity import agreement, compare
from tests.support.clients import CRATES, NotHere


@pytest.mark.slow
@pytest.mark.parametrize("release", CRATES)
def test_librdkafka_answers_as_the_library_does(release):
    try:
        counts = compare(release, cases=60, seed=2)
    except NotHere as reason:
        pytest.skip(str(reason))
    assert counts.total() == 60
    assert {how for _, how in counts} <= {"alike", "ends alike", "freed memory", "endless"}


@pytest.mark.slow
def test_franz_go_answers_as_the_library_does():
    try:
        counts = franz_go_parity.compare(cases=50, seed=2)
    except NotHere as reason:
        pytest.skip(str(reason))
    assert counts.total() == 50
    assert {how for _, how in counts} == {"alike", "open", "open, of all orders"}


@pytest.mark.slow
@pytest.mark.parametrize("client", leader_parity.CLIENTS)
def test_clients_of_go_javascript_and_python_answer_as_the_library_does(client):
    try:
        counts = leader_parity.compare(client, cases=30, seed=2)
    except NotHere as reason:
        pytest.skip(str(reason))
    assert counts.total() == 30
    assert {how for _, how in counts} <= {"alike", "open", "fails alike"}


KAFKAJS = GROUP_PROTOCOLS["classic"]["kafkajs:RoundRobinAssigner"]


def test_what_our_answer_must_have():
    body = {
        "topics": [{"topic_name": "t", "partitions_count": 2}],
        "members": [{"member_id": name, "topic_names": ["t"]} for name in "ab"],
    }
    right = {"a": [("t", 0)], "b": [("t", 1)]}
    assert leader_parity.agreement(KAFKAJS, body, [right, right]) == "alike"
    assert leader_parity.agreement(KAFKAJS, body, [right, {"a": [("t", 1)], "b": [("t", 0)]}]) is None
    assert leader_parity.agreement(KAFKAJS, body, [None]) is None


@pytest.mark.slow
def test_a_difference_is_found(monkeypatch):
    wrong = dataclasses.replace(GROUP_PROTOCOLS["classic"]["librdkafka:range"], run=roundrobin.assign, forms={})
    monkeypatch.setitem(GROUP_PROTOCOLS["classic"]._builtins, "librdkafka:range", wrong)
    try:
        with pytest.raises(Differs, match=r"librdkafka:range 2\.12\.1, group \d+"):
            compare("2.12.1", cases=300, seed=2)
    except NotHere as reason:
        pytest.skip(str(reason))


def test_what_ends_a_process_must_have_been_said():
    ends = "librdkafka's assignor ends its own process (Aborted: an assertion fails): …"
    answer = {"a": [("t", 0)]}
    assert agreement(answer, answer) == "alike"
    assert agreement(ends, "Aborted") == "ends alike"
    assert agreement(ends, answer) is None
    assert agreement(answer, "Aborted") is None
    assert agreement("librdkafka's assignor never returns: …", "Alarm clock") == "endless"
    assert agreement("librdkafka's assignor never returns: …", answer) is None
    assert agreement("… (Segmentation fault: it reads freed memory)", answer) == "freed memory"
