"""The ids that Kafka draws: their forms, their places among present ones, and what stays as it is."""

from __future__ import annotations

import base64
import uuid

import pytest

from service.planner.member_ids import IdDraw, client_id_of, default_client_id, further_instance_ids

UUID = "16b4944a-f18d-4a18-89e2-6d48015fb933"


@pytest.mark.parametrize(
    "client_id",
    [
        "consumer-billing-1",
        "rdkafka",
        "kgo",
        "sarama",
        "kafka-python-2.0.2",
        "kafkajs",
        "app@host (github.com/segmentio/kafka-go)",
    ],
)
def test_members_that_come_have_the_client_id_of_those_that_are_there(client_id: str) -> None:
    (new,) = IdDraw().further([f"{client_id}-{UUID}"] * 3, 1, "classic")
    assert client_id_of(new) == client_id
    assert uuid.UUID(new[-36:]).version == 4
    again = IdDraw().again("a", f"{client_id}-{UUID}", None, ())
    assert client_id_of(again) == client_id
    assert again != new


def test_members_of_the_other_protocols_draw_22_characters() -> None:
    """Uuid.toString of a random UUID, which never begins with a dash."""
    drawn = [IdDraw(number=i).further([f"consumer-a-1-{UUID}"], 1, "consumer")[0] for i in range(500)]
    assert {len(one) for one in drawn} == {22}
    assert {uuid.UUID(bytes=base64.urlsafe_b64decode(one + "==")).version for one in drawn} == {4}
    assert not any(one.startswith("-") for one in drawn)
    assert all(client_id_of(one) == "" for one in drawn)
    assert client_id_of("consumer-of-the-orders") is None
    assert client_id_of(IdDraw().again("a", f"consumer-a-1-{UUID}", None, (), migrates=True)) == ""


def test_numbers_of_clients() -> None:
    """Java counts the consumers of one process from 1 on; other numbers go on."""

    def further(*clients: str) -> list[str | None]:
        return [client_id_of(one) for one in IdDraw().further([f"{each}-{UUID}" for each in clients], 3, "classic")]

    assert further(*["consumer-g-1"] * 4) == ["consumer-g-1"] * 3
    assert further("consumer-g-1", "consumer-g-2", "consumer-g-1", "consumer-g-2") == [
        "consumer-g-1",
        "consumer-g-2",
        "consumer-g-1",
    ]
    assert further("worker-8", "worker-9") == ["worker-10", "worker-11", "worker-12"]
    assert set(further("a", "a", "b")) <= {"a", "b"}
    assert further_instance_ids(["orders-0", "orders-1"], ["", ""]) == ["orders-2", "orders-3"]
    assert further_instance_ids(["a", "b"], ["", ""]) == ["b-1", "b-2"]


def test_among_ids_that_nobody_has_drawn_each_place_is_as_likely() -> None:
    present = ["c1", "c2", "c3"]
    places = [sum(one < new for one in present) for i in range(2_000) for new in IdDraw(number=i).further(present, 1, "classic")]
    assert [400 < places.count(place) < 600 for place in range(4)] == [True] * 4


def test_the_first_of_more_are_those_of_fewer_and_other_draws_differ() -> None:
    present = [f"consumer-a-1-{UUID}"]
    five = IdDraw(3, 1).further(present, 5, "classic")
    assert IdDraw(3, 1).further(present, 2, "classic") == five[:2]
    assert len({*five, *IdDraw(3, 2).further(present, 5, "classic"), *IdDraw(4, 1).further(present, 5, "classic")}) == 15
    assert not {*five} & {*IdDraw(3, 1).further(present, 5, "classic", taken=five)}


def test_an_empty_group_has_the_default_of_its_client() -> None:
    assert [default_client_id(client, "g") for client in ("range", "franz-go")] == ["consumer-g-1", "kgo"]
    assert client_id_of(IdDraw(client_id="kgo").further([], 1, "classic")[0]) == "kgo"
