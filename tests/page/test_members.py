"""The workbench Members, and groups that are pasted."""

from __future__ import annotations

import json

from tests.page.conftest import opened

DESCRIBED = """\

GROUP    TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST        CLIENT-ID
billing  orders  0          100             160             60   c-1          /127.0.0.1  c
billing  orders  1          100             140             40   c-1          /127.0.0.1  c
billing  orders  2          -               90              -    c-2          /127.0.0.1  c
"""


def pasted(page, text):
    page.get_by_text("Take a group from Kafka").click()
    field = page.get_by_label("Paste kafka-consumer-groups --describe")
    field.fill(text)
    field.press("Tab")


def test_the_recommendation_is_the_services(page, client):
    opened(page, "/#/members")
    pasted(page, DESCRIBED)
    page.get_by_text("100 records of lag in all").wait_for()
    owned = [("c-1", [0, 1]), ("c-2", [2])]
    body = {
        "assignor": "cooperative-sticky",
        "topics": [{"topic_name": "orders", "partitions_count": 3, "partition_weights": [60, 40, 0]}],
        "members": [
            {"member_id": name, "owned_partitions": [{"topic_name": "orders", "partition_ids": ids}]} for name, ids in owned
        ],
        "members_counts": [1, 2, 3],
        "consumption_rate": 1,
        "limits": {"max_lag_seconds": 60},
    }
    page.get_by_label("A member works off").fill("1")
    page.get_by_label("A member works off").press("Tab")
    plan = client.post("/v1/member-count-plans", json=body).json
    page.locator(".verdict", has_text=f"{plan['recommended']} members keep the limits; the group has 2").wait_for()
    rows = page.locator("figure").first.locator("tbody tr")
    assert [row.locator("td").first.text_content() for row in rows.all()] == ["1", "2", "3"]


def test_a_limit_that_cannot_be_kept_says_why(page):
    opened(page, "/#/members")
    page.get_by_label("Lag gone within").fill("0.001")
    page.get_by_label("Lag gone within").press("Tab")
    page.get_by_text("no number keeps the limits").wait_for()


def test_a_snapshot_is_dropped_and_a_group_picked(page, tmp_path):
    member = {"member_id": "m-1", "topic_names": ["orders"], "owned_partitions": [], "client_id": "c", "host": "h"}
    groups = [{"group_id": name, "group_protocol": "classic", "assignor": "range", "members": [member]} for name in ("a", "b")]
    topics = [{"topic_name": name, "partitions_count": 7, "internal": False} for name in ("orders", "others")]
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps({"snapshot_version": 1, "topics": topics, "groups": groups}))
    opened(page, "/#/groups")
    page.get_by_text("Take a group from Kafka").click()
    page.locator("input[type=file]").set_input_files(path)
    page.get_by_label("Group", exact=True).select_option("b")
    page.get_by_label("Subscription of m-1").wait_for()
    page.get_by_text("of 7 partitions").wait_for()


def test_a_text_without_a_group_is_refused_in_a_sentence(page):
    opened(page, "/#/groups")
    pasted(page, "hello")
    page.get_by_role("alert").filter(has_text="No group with members was found").wait_for()
