"""``POST /v1/streams-assignments``, and its bodies at ``/v1/group-assignments``."""

from __future__ import annotations

import pytest

from service.api.streams.views import EXAMPLE

PATH = "/v1/streams-assignments"


def test_a_body_of_streams_is_answered_at_group_assignments_too(client):
    for headers in ({}, {"Accept": "text/csv"}):
        one, other = (client.post(path, json=EXAMPLE, headers=headers) for path in ("/v1/group-assignments", PATH))
        assert one.status_code == 200
        assert one.data == other.data


def member(i, **more):
    return {"member_id": f"m{i}", "process_id": f"p{i}", **more}


def body_of(*members, **more):
    return {"subtopologies": [{"subtopology_id": "0", "tasks_count": 4, "stateful": True}], "members": list(members), **more}


def tasks(*ids):
    return [{"subtopology_id": "0", "task_ids": list(ids)}]


def test_tasks_are_counted_by_what_becomes_of_them(client):
    members = (member(1, active_tasks=tasks(0, 1, 2)), member(2, standby_tasks=tasks(2)))
    answer = client.post(PATH, json=body_of(*members, num_standby_replicas=1)).json
    assert answer["movement"] == {"retained": 2, "promoted": 1, "moved": 0, "added": 1, "retained_standbys": 1}
    assert "warnings" not in answer


def test_standby_tasks_that_no_process_can_take_are_told(client):
    answer = client.post(PATH, json=body_of(member(1), member(2), num_standby_replicas=2)).json
    assert [each["missing"] for each in answer["missing_standby_tasks"]] == [1] * 4
    assert answer["warnings"][0].startswith("4 standby tasks are missing")


def test_offsets_play_a_part_since_4_4(client):
    """Both had task 0 as a standby task; the second one has restored more of it."""
    standby = [
        {"standby_tasks": tasks(0), "task_offsets": [{"subtopology_id": "0", "task_id": 0, "offset": i}]} for i in range(2)
    ]
    members = [member(i, **fields) for i, fields in enumerate(standby)]
    owners = {}
    for release in ("4.3.1", "4.4.0"):
        answer = client.post(PATH, json=body_of(*members, kafka_version=release)).json
        (owners[release],) = (i for i, each in enumerate(answer["assignments"]) if 0 in each["active_tasks"][0]["task_ids"])
    assert owners == {"4.3.1": 0, "4.4.0": 1}


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        (body_of(), ["/members"]),
        (body_of(member(1), member(1)), ["/members/1/member_id"]),
        (body_of(member(1), assignor="uniform", group_protocol="streams"), ["/assignor"]),
        (body_of(member(1), kafka_version="4.2.0"), ["/kafka_version"]),
        (body_of(member(1), num_standby_replicas=101), ["/num_standby_replicas"]),
        ({**body_of(member(1)), "subtopologies": [{"subtopology_id": "0", "tasks_count": 2**31 - 1}]}, ["/subtopologies"]),
        (body_of(member(1), group_protocol="connect"), ["/group_protocol"]),
    ],
)
def test_what_is_wrong_is_named(client, body, pointers):
    response = client.post(PATH, json=body)
    assert response.status_code == 422
    assert [error["pointer"] for error in response.json["errors"]] == pointers
