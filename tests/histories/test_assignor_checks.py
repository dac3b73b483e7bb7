"""Targets of real coordinators (KIP-848) are what their assignor gives; those that are altered are not."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from partition_allocator import history
from tests.support.recordings import RUNS, Group, decoded, groups, kind_of

TOLD: Final = ("snapshots", "topics")
TARGET, TARGET_MEMBER = 6, 7


def consumer_groups() -> list[Any]:
    """Those of all runs whose records tell of a coordinator that assigned."""
    found = [group for run in RUNS for group in groups(run)]
    return [pytest.param(group, id=f"{group.run}-{group.group_id}") for group in found if any(of_coordinator(decoded(group)))]


def of_coordinator(records: list[dict[str, Any]]) -> list[int]:
    """The epochs whose targets an assignor computed; one of a group that is converted has no time."""
    return [each["value"]["assignmentEpoch"] for each in records if each["record_type"] == TARGET and each["value"]]


def asked(group: Group, records: list[dict[str, Any]], *kinds: str) -> dict[int, dict[str, Any]]:
    """Epoch → its check."""
    told = [text for name, text in group.sources.items() if kind_of(name) in kinds]
    lines = "".join(json.dumps(each) + "\n" for each in records)
    answer: dict[str, Any] = history(group.group_id, lines, *told)
    return {each["number"]: each["check"] for each in answer["rebalances"] if each["protocol"] == "consumer"}


@pytest.mark.parametrize("group", consumer_groups())
def test_every_target_of_a_coordinator_is_its_assignors(group: Group) -> None:
    """Of every epoch, by the topics as they are described before and after."""
    records = decoded(group)
    checks = asked(group, records, *TOLD)
    converted = {4} if group.run == "migration" else set()  # what the classic group's leader had assigned
    told = {epoch: checks[epoch]["sentence"] for epoch in of_coordinator(records) if epoch not in converted}
    assert told
    conditions = {6: "if payments.t did not exist then"} if group.run == "librdkafka-consumer-regex" else {}  # it was deleted
    release = " of Kafka 4.0.0" if group.run == "first-modern" else ""
    for epoch, sentence in told.items():
        only = f", {conditions[epoch]}" if epoch in conditions else ""
        name = "uniform" if group.run == "migration" else group.known["assignor"]
        assert sentence.replace(release, "") == f"Yes{only}: the coordinator's {name} gives exactly this.", epoch


@pytest.mark.parametrize("group", consumer_groups())
def test_an_altered_target_is_found(group: Group) -> None:
    """In turn each loses its first partition, to the next member of its epoch or to nobody."""
    records = decoded(group)
    for at, record in enumerate(records):
        topics = record["value"] and record["record_type"] == TARGET_MEMBER and record["value"]["topicPartitions"]
        end = next((each for each in records[at:] if each["record_type"] != TARGET_MEMBER), None)
        is_computed = end is not None and end["record_type"] == TARGET and any(of_coordinator(records[:at]))
        if not topics or len(topics[0]["partitions"]) < 2 or not is_computed:
            continue
        first, *others = topics[0]["partitions"]
        altered = [*records[:at], with_topics(record, [{**topics[0], "partitions": others}, *topics[1:]]), *records[at + 1 :]]
        following = records[at + 1]
        if following["record_type"] == TARGET_MEMBER and following["value"]:
            more = {"topicId": topics[0]["topicId"], "partitions": [first]}
            altered[at + 1] = with_topics(following, [*following["value"]["topicPartitions"], more])
        epoch = of_coordinator(records[at:])[0]
        check = asked(group, altered, *TOLD)[epoch]
        assert check["alike"] is False, (epoch, check["sentence"])
        assert check["sentence"].startswith("No: the coordinator's")


@pytest.mark.parametrize("run", ["librdkafka-consumer-crowd", "first-modern", "migration"])
def test_records_that_begin_in_the_middle_lead_to_no_false_answer(run: str) -> None:
    """Cut, or compacted until then: of each key only the last record is left, and no tombstone."""
    group = next(iter(groups(run)))
    records, told = decoded(group), set[Any]()
    for at in range(1, len(records), 7):
        last = {json.dumps([each["record_type"], each["key"]]): each for each in records[:at] if each["record_type"] != 1}
        compacted = [each for each in last.values() if each["value"]] + records[at:]
        for some in (records[at:], compacted):
            told |= {check and check["alike"] for check in asked(group, some, *TOLD).values()}
    assert told == {True, None}


def with_topics(record: dict[str, Any], topics: list[dict[str, Any]]) -> dict[str, Any]:
    """A member's record with another target."""
    return {**record, "value": {"topicPartitions": topics}}
