"""``/v1/descriptions`` as a caller sees it."""

from __future__ import annotations

import json
import random
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flask.testing import FlaskClient

PATH = "/v1/descriptions"
TOPIC = (
    "Topic: orders\tPartitionCount: 2\tReplicationFactor: 2\tConfigs: \n"
    "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n"
    "\tTopic: orders\tPartition: 1\tLeader: none\tReplicas: 2,1\tIsr: \n"
)
GROUP = """\
GROUP    TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST        CLIENT-ID
billing  orders  0          100             160             60   c-1          /127.0.0.1  c
billing  orders  1          -               90              -    c-2          /127.0.0.1  c
"""

LACKS = "The lag of 1 of 2 partitions is not known, for want of a committed offset or a log end."


def test_a_text_is_read_as_it_is(client: FlaskClient) -> None:
    answer = client.post(PATH, data=TOPIC, content_type="text/plain").json
    assert answer["conclusion"] == "Read 1 topic (2 partitions) on 2 brokers. Racks are not known."
    assert answer["forms"] == ["kafka-topics"]
    assert "bodies" not in answer
    (topic,) = answer["snapshot"]["topics"]
    assert [placement["leader"] for placement in topic["placements"]] == [1, None]
    assert all("rack_id" not in broker for broker in answer["snapshot"]["brokers"])


def test_a_text_of_windows_is_read(client: FlaskClient) -> None:
    answer = client.post(PATH, data=TOPIC.encode("utf-16"), content_type="text/plain").json
    assert answer["conclusion"] == "Read 1 topic (2 partitions) on 2 brokers. Racks are not known."


def test_groups_of_which_no_body_is_made_are_counted(client: FlaskClient) -> None:
    groups = GROUP + "".join(f"g-{i}  orders  0  1  2  1  c-1  /127.0.0.1  c\n" for i in range(100))
    answer = client.post(f"{PATH}?bodies=true", json={"texts": [TOPIC, groups]}).json
    assert len(answer["bodies"]["group_assignments"]) == 100
    assert "Bodies are made of the first 100 of 101 groups." in answer["warnings"]


def test_later_texts_complete_earlier_ones(client: FlaskClient) -> None:
    answer = client.post(f"{PATH}?bodies=true", json={"texts": [TOPIC, "broker,rack\n1,a\n2,b\n", GROUP]}).json
    assert answer["conclusion"] == f"Read 1 topic (2 partitions) on 2 brokers and 1 group of 2 members with its lag. {LACKS}"
    assert [broker["rack_id"] for broker in answer["snapshot"]["brokers"]] == ["a", "b"]
    bodies = answer["bodies"]
    assert bodies["log_dir_plan"] is None
    assert client.post("/v1/reassignments", json=bodies["reassignment"]).status_code == 200
    (group,) = bodies["group_assignments"]
    assert group["topics"][0]["lag"]["committed_offsets"] == [100, None]
    assert client.post("/v1/group-assignments", json=group).status_code == 200


def test_the_body_of_a_request_keeps_its_members(client: FlaskClient) -> None:
    lag = {"committed_offsets": [100, None], "log_end_offsets": [160, 90]}
    body = {
        "assignor": "roundrobin",
        "topics": [{"topic_name": "orders", "partitions_count": 2, "lag": lag}],
        "members": [{"member_id": "a", "topic_names": ["orders"]}, {"member_id": "b", "topic_names": ["orders"]}],
    }
    answer = client.post(f"{PATH}?bodies=true", json={"texts": [json.dumps(body | {"max_moves": 1})]}).json
    assert answer["conclusion"] == f"Read 1 topic (2 partitions) and 1 group of 2 members with its lag. {LACKS}"
    assert answer["warnings"] == ["Of this JSON only what it describes is read, not max_moves."]
    assert answer["bodies"]["group_assignments"] == [body | {"group_id": "group"}]


def test_counts_that_are_inferred_are_not_called_unknown(client: FlaskClient) -> None:
    answer = client.post(f"{PATH}?bodies=true", json={"texts": [GROUP]}).json
    assert "The partition count of orders is not listed." in answer["conclusion"]
    assert any("inferred from the group's rows" in warning for warning in answer["warnings"])


def test_nothing_that_is_not_known_is_filled_in(client: FlaskClient) -> None:
    answer = client.post(f"{PATH}?bodies=true", json={"texts": ["broker,rack\n1,a\n"]}).json
    assert answer["conclusion"] == "Read 1 broker."
    assert answer["bodies"] == {"reassignment": None, "log_dir_plan": None, "group_assignments": []}


def test_a_text_of_which_nothing_is_read_is_an_error(client: FlaskClient) -> None:
    problem = client.post(PATH, json={"texts": [TOPIC, "hello"]})
    assert problem.status_code == 422
    assert problem.json["errors"][0]["pointer"] == "/texts/1"
    assert "Not the output of kafka-topics --describe" in problem.json["errors"][0]["detail"]
    assert client.post(PATH, data=b"\xff", content_type="text/plain").status_code == 400
    assert client.post(PATH, data="x", content_type="text/html").status_code == 415


def test_a_broker_that_is_being_left_still_has_the_topic(client: FlaskClient) -> None:
    row = "Topic: t\tPartition: 0\tLeader: 3\tReplicas: 4,1,3\tIsr: 3,1\tAdding Replicas: 4\tRemoving Replicas: 3\n"
    answer = client.post(PATH, json={"texts": [row, "broker,rack\n3,a\n"]}).json
    assert answer["conclusion"].startswith("Read 1 topic (1 partition) on 3 brokers.")


def drawn(seed: int) -> Any:
    """Texts of a cluster with racks of all, some or no brokers, and of groups; and what is in them."""
    draw = random.Random(seed)
    ids, topics, used, texts = draw.sample(range(1, 900), draw.randint(1, 6)), {}, set(), []
    for i in range(draw.choice([0, 1, 2, 5])):
        topics[f"t{i}"] = [draw.sample(ids, draw.randint(1, min(3, len(ids)))) for _ in range(draw.randint(1, 5))]
    for name, rows in topics.items():
        used |= {broker for row in rows for broker in row}
        listed = [(i, ",".join(map(str, row))) for i, row in enumerate(rows)]
        lines = [f"Topic: {name}\tPartition: {i}\tLeader: none\tReplicas: {row}\tIsr: \n" for i, row in listed]
        texts.append("".join(lines))
    racked = draw.choice([[], ids, draw.sample(ids, draw.randint(1, len(ids)))])
    if racked:
        texts.append("broker,rack\n" + "".join(f"{broker},a\n" for broker in racked))
    groups = []
    for g in range(draw.choice([0, 0, 1, 2])):
        name, given = (draw.choice(sorted(topics)) if topics else "x"), draw.choice(["all", "some", "none"])
        members = [f"c{i}-{g}" for i in range(draw.randint(1, 3))]
        text, lags = "\nGROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\n", []
        for p in range(len(topics.get(name, "abc"))):
            committed = "-" if given == "none" or (given == "some" and draw.random() < 0.5) else str(draw.randint(0, 9))
            lag = "-" if committed == "-" else str(9 - int(committed))
            text += f"g{g} {name} {p} {committed} 9 {lag} {members[p % len(members)]} /10.0.0.1 c{p % len(members)}\n"
            lags.append(lag)
        texts.append(text)
        groups.append((min(len(members), len(lags)), lags))
    draw.shuffle(texts)
    return texts, topics, used, {*used, *racked}, racked, groups


def test_what_was_read_is_counted(client: FlaskClient) -> None:
    for seed in range(200):
        texts, topics, used, brokers, racked, groups = drawn(seed)
        if not texts:
            continue
        text = client.post(PATH, json={"texts": texts}).json["conclusion"]
        listed = {
            r"(\d+) partitions?\)": sum(map(len, topics.values())),
            r"(?:on|of|,|and|Read) (\d+) brokers?\b": len(brokers),
            r"on (\d+) of \d+ broker": len(used) if len(used) < len(brokers) else 0,
            r"(\d+) groups?": len(groups),
            r"groups? of (\d+) members?": sum(members for members, _ in groups),
        }
        for pattern, count in listed.items():
            found = re.search(pattern, text.partition(". ")[0])
            assert int(found[1] if found else 0) == count, (seed, pattern, text)
        lacks = sorted(brokers - {*racked})
        assert ("Racks are not known" in text) == (bool(brokers) and not racked), (seed, text)
        named = re.search(r"racks? of brokers? ([\d, ]+)", text)
        assert bool(named) == bool(racked and lacks), (seed, text)
        assert not named or {int(i) for i in named[1].split(",")} <= {*lacks}, (seed, text)
        known = [lags for _, lags in groups if any(lag != "-" for lag in lags)]
        assert ("Lag is not known" in text) == (bool(groups) and not known), (seed, text)
        missing = re.search(r"The lag of (\d+) of (\d+) partition", text)
        counts = [sum(lags.count("-") for lags in known), sum(map(len, known))]
        assert [int(i) for i in missing.groups()] == counts if missing else not counts[0], (seed, text)
        of = re.search(r", (\d+) with (?:its|their) lag", text)
        assert int(of[1]) == len(known) < len(groups) if of else len(known) in (0, len(groups)), (seed, text)
