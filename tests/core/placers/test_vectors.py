"""Every placement that the real classes made, and every refusal, word for word."""

from __future__ import annotations

from typing import Any

import pytest

from service.core.jvm.random import JavaRandom
from tests import golden
from tests.core.placers.questions import answer, cluster_of, wish_of

ONE_TOPIC = (
    "adminutils",
    "adminutils-large",
    "adminutils-errors",
    "adminutils-edge",
    "striped",
    "striped-large",
    "striped-errors",
    "worked-examples",
)


@pytest.mark.parametrize("case", golden.params(*(f"placement/{name}" for name in ONE_TOPIC)))
def test_one_topic_is_placed_as_kafka_did(case: dict[str, Any]) -> None:
    """Placements and errors, at the release named."""
    request = case["request"]
    wish = wish_of(request, case.get("kafka_version", "4.3.1"))
    placed = answer(request["placer"], cluster_of(request["brokers"]), wish, JavaRandom(request.get("random_seed", 0)))
    assert placed == case["expected"]


@pytest.mark.parametrize("case", golden.params("placement/striped-topics"))
def test_topics_share_one_random(case: dict[str, Any]) -> None:
    """Several topics go on from where the one before, refused or not, has left the generator."""
    request = case["request"]
    cluster, random = cluster_of(request["brokers"]), JavaRandom(request["random_seed"])
    placed = [
        {"topic_name": topic["topic_name"], **answer(request["placer"], cluster, wish_of(topic), random)}
        for topic in request["topics"]
    ]
    assert placed == case["expected"]["topics"]
