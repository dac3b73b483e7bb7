"""The workbench Placement."""

from __future__ import annotations

import json

from tests.page.conftest import link, opened

DESCRIBED = """\
Topic: orders\tTopicId: kJ5mZYJmQ_K4cXmVbGt2Wg\tPartitionCount: 3\tReplicationFactor: 2\tConfigs:
\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2
\tTopic: orders\tPartition: 1\tLeader: 2\tReplicas: 2,3\tIsr: 2,3
\tTopic: orders\tPartition: 2\tLeader: 3\tReplicas: 3,1\tIsr: 3,1
"""
STATE = {"objective": "fewest-moves", "racks": "strict", "leaders": "balance", "throttle": 50, "moves_per_broker": 5}


def pasted(page, text):
    field = page.get_by_label("Paste kafka-topics --describe")
    field.fill(text)
    field.press("Tab")


def test_brokers_are_drained_and_added_by_clicking_and_the_plan_is_the_services(page, client):
    opened(page, "/#/placement")
    pasted(page, DESCRIBED)
    page.get_by_text("orders: 3 partitions on 3 brokers").wait_for()
    page.get_by_role("button", name="broker 3").click()
    page.get_by_text("Empties broker 3").first.wait_for()
    page.get_by_role("button", name="Add broker to rack c").click()
    page.get_by_role("button", name="broker 4").wait_for()
    placements = [{"partition_id": i, "replicas": replicas} for i, replicas in enumerate([[1, 2], [2, 3], [3, 1]])]
    racks = dict(zip(range(1, 5), "abcc", strict=True))  # those of the example stay
    brokers = [{"broker_id": i, "rack_id": rack, "draining": i == 3} for i, rack in racks.items()]
    body = {
        "brokers": brokers,
        "topics": [{"topic_name": "orders", "placements": placements}],
        "limits": {"moves_per_broker": 5},
    }
    plan = client.post("/v1/reassignments", json=body).json
    page.locator(".verdict", has_text=plan["effects"][0]).wait_for()
    for name in ("reassignment", "rollback"):
        with page.expect_download() as downloaded:
            page.get_by_role("button", name=f"{name}.json", exact=True).click()
        assert json.loads(downloaded.value.path().read_text()) == plan[name]
    page.get_by_role("button", name="broker 3").press("Enter")  # by the keyboard, it stays again
    page.get_by_role("button", name="broker 3", pressed=False).wait_for()


def test_a_plan_that_cannot_be_says_what_clashes(page):
    opened(page, "/#/placement")
    pasted(page, json.dumps({"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}]}))
    page.get_by_text("t: 1 partition on 2 brokers").wait_for()
    page.get_by_role("button", name="broker 2").click()
    page.get_by_role("alert").get_by_role("heading").wait_for()


def test_a_reassignment_is_checked(page):
    opened(page, "/#/placement")
    page.get_by_text("Check a reassignment JSON").click()
    field = page.get_by_label("What kafka-reassign-partitions would take")
    field.fill(json.dumps({"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 1, 99]}]}))
    field.press("Tab")
    page.get_by_text("Broker 1 is listed twice.").wait_for()
    field.fill("{")
    field.press("Tab")
    page.get_by_text("This is not JSON").wait_for()


def test_a_text_of_another_kind_is_refused_in_a_sentence(page):
    opened(page, "/#/placement")
    pasted(page, "hello")
    page.get_by_role("alert").filter(has_text="No partitions were found").wait_for()


def test_a_large_cluster_is_shown_by_topic(page):
    placements = [{"partition_id": i, "replicas": [i % 60, (i + 7) % 60, (i + 32) % 60]} for i in range(1000)]
    topics = [{"topic_name": f"topic-{t}", "placements": placements} for t in range(5)]
    brokers = [{"broker_id": i, "rack_id": "abc"[i % 3], "change": "drains" if i == 5 else ""} for i in range(60)]
    opened(page, link("placement", STATE | {"brokers": brokers, "topics": topics, "max_moves": None, "lint": ""}))
    page.get_by_text("Replicas of each topic and broker after the plan").wait_for()
    page.get_by_text("Empties broker 5 with 250 copies").first.wait_for()
