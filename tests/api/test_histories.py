"""``POST /v1/group-histories``."""

from tests.histories.recorded import log, records

PATH = "/v1/group-histories"


def test_the_answer(client):
    body = {"group_id": "changes-range", "texts": [log("changes-range"), records("changes-range")], "names": ["log", "dump"]}
    answer = client.post(PATH, json=body).json
    assert answer["conclusion"].startswith("5 rebalances in 32.5 s: 2 by a member that joined")
    third = answer["rebalances"][2]
    assert third["causes"][0] | {"text": ""} == {
        "kind": "session_expired",
        "members": ["c1"],
        "sentence": "c1 was removed when its session expired",
        "source": "log",
        "line": 14,
        "text": "",
    }
    assert third["before"] == {"count": 3, "members": ["c1", "c2", "c3"]}
    assert third["after"] == {"count": 2, "members": ["c2", "c3"]}
    assert third["moves"] == {"moved": 3, "of": 6, "since": 2}
    assert {each["source"] for each in third["sources"]} == {"log", "dump"}
    assert [source["lines_told"] for source in answer["sources"]] == [20, 6]


def test_the_table(client):
    body = {"group_id": "changes-range", "texts": [log("changes-range")]}
    lines = client.post(PATH, json=body, headers={"Accept": "text/csv"}).text.splitlines()
    assert lines[0].replace('"', "").startswith("number,began_at,joined_at,ended_at,cause,members")
    assert "session_expired" in lines[3]


def test_texts_that_tell_nothing_of_the_group(client):
    answer = client.post(PATH, json={"group_id": "orders", "texts": [log("changes-range")]})
    assert answer.status_code == 422
    assert answer.json["errors"][0] == {
        "pointer": "/texts",
        "detail": "None of 25 lines tells what happened to the group 'orders'. They tell of changes-range.",
    }


def test_the_group_is_the_only_one_that_a_log_names(client):
    log = "".join(
        f"[2026-11-21 09:00:1{i},022] INFO Stabilized group {{}} generation {i + 1} with 2 members.\n" for i in range(3)
    )
    asked = client.post("/v1/group-histories", json={"texts": [log.format("a", "a", "a")]})
    assert (asked.json["group_id"], len(asked.json["rebalances"])) == ("a", 3)
    several = client.post("/v1/group-histories", json={"texts": [log.format("b", "a", "b")]})
    assert several.json["detail"] == "/group_id: Which group? The sources tell of a and b."
    none = client.post("/v1/group-histories", json={"texts": ["nothing"]})
    assert none.json["detail"] == "/group_id: Which group? No line of a log names one."
