"""A client's assignor answers for the releases of the client that were compared, and for those between them."""

from __future__ import annotations

import pytest

from service.clients import CLASSIC
from service.core.errors import InvalidQuestion, KafkaAssignorFails, UnknownStrategy
from service.core.registry import exceeds, reaches
from service.strategies import GROUP_PROTOCOLS, of_client
from tests.clients.harness import assert_agrees
from tests.support import golden
from tests.support.groups import group_of

RANGE = GROUP_PROTOCOLS["classic"]["librdkafka:range"]


@pytest.mark.parametrize(
    ("release", "as_in"),
    [("1.9.2", "1.9.2"), ("1.9", "1.9.2"), ("2.1.1", "1.9.2"), ("2.2.0", "2.15.1"), ("v2.12", "2.15.1"), ("2", "2.15.1")],
)
def test_a_release_is_answered_as_the_newest_that_answers_so(release, as_in):
    form = RANGE.of_client(release)
    assert form.implementation.release == as_in
    assert (form.run is RANGE.run) == (as_in == "2.15.1")


@pytest.mark.parametrize("release", ["1.4.2", "2.16", "3", "0", "", "two", "2.15.1-RC1"])
def test_another_release_is_rejected_with_the_known_ones(release):
    with pytest.raises(InvalidQuestion, match=r"was compared with 1\.5\.0 to 2\.15\.1, not with") as refusal:
        RANGE.of_client(release)
    assert refusal.value.field == ("client_version",)


def test_balanced_has_no_releases_of_a_client():
    with pytest.raises(InvalidQuestion, match="balanced is not of a client whose releases were compared"):
        GROUP_PROTOCOLS["classic"]["balanced"].of_client("4.0.0")


def test_one_release_speaks_for_no_other():
    with pytest.raises(InvalidQuestion, match=r"franz-go:range was compared with 1\.22\.2 only, not with '1\.10'"):
        GROUP_PROTOCOLS["classic"]["franz-go:range"].of_client("1.10")


def test_sticky_of_kafka_python_2_0_2_cannot_be_joined_again():
    body = {
        "topics": [{"topic_name": "t", "partitions_count": 2}],
        "members": [{"member_id": "a", "owned_partitions": [{"topic_name": "t", "partition_ids": [0]}]}, {"member_id": "b"}],
    }
    with pytest.raises(KafkaAssignorFails, match=r"has no len.*'a' has been in the group before.*2\.0\.3 or later"):
        GROUP_PROTOCOLS["classic"]["kafka-python:sticky"].of_client("2.0.2").run(group_of(body))


def test_every_assignor_of_a_client_names_the_releases_compared():
    for assignor in CLASSIC:
        assert assignor.implementation.release == assignor.client_releases[-1]


def test_older_releases_answer_as_they_were_recorded_to():
    def check(case):
        request = case["request"]
        assert_agrees(f"{request['client']}:{request['assignor']}", case, request["client_version"])

    golden.check("clients/older-releases", check)
    golden.check("clients/older-librdkafka", check)


def test_releases_compare_by_number():
    assert reaches("1.10", "1.9.2")
    assert not reaches("1.8", "1.9.2")
    assert exceeds("2.10", "2.9.9")
    assert not exceeds("2.9", "2.9.1")


def test_a_client_and_its_name_for_an_assignor_are_the_full_name():
    assert of_client("classic", "librdkafka", "roundrobin") == "librdkafka:roundrobin"
    assert of_client("classic", "librdkafka", None) == "librdkafka:range"
    assert of_client("classic", "java", None) == "range"
    assert of_client("share", "java", None) == "simple"
    for protocol, client in (("classic", "kafka"), ("consumer", "librdkafka")):
        with pytest.raises(UnknownStrategy, match=f"There is no client '{client}'"):
            of_client(protocol, client, "range")
