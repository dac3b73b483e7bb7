"""The workbench Members, and groups that are pasted."""

from __future__ import annotations

import json

from tests.page.conftest import link, opened

DESCRIBED = """\

GROUP    TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST        CLIENT-ID
billing  orders  0          100             160             60   c-1          /127.0.0.1  c
billing  orders  1          100             140             40   c-1          /127.0.0.1  c
billing  orders  2          -               90              -    c-2          /127.0.0.1  c
"""


SMALL = {
    "group_protocol": "classic",
    "assignor": "cooperative-sticky",
    "topics": [{"topic_name": "t", "partitions_count": 2, "partition_weights": [20, 10]}],
    "members": [{"member_id": "m"}],
    "consumption_rate": 1,
    "limits": {"max_lag_seconds": 60},
}
"""A group whose plans take a moment, where those of the example take half a second."""


def pasted(page, text):
    page.get_by_text("Take a group from Kafka").click()
    field = page.get_by_label("Paste kafka-consumer-groups --describe")
    field.fill(text)
    field.press("Tab")


def test_the_recommendation_is_the_services(page, service):
    opened(page, link("members", SMALL))
    pasted(page, DESCRIBED)
    page.get_by_text("100 records of lag in all").wait_for()
    owned = [("c-1", [0, 1]), ("c-2", [2])]
    lag = {"committed_offsets": [0, 0, None], "log_end_offsets": [60, 40, 90]}
    body = {
        "assignor": "cooperative-sticky",
        "topics": [{"topic_name": "orders", "partitions_count": 3, "lag": lag}],
        "members": [
            {"member_id": name, "owned_partitions": [{"topic_name": "orders", "partition_ids": ids}]} for name, ids in owned
        ],
        "members_counts": [1, 2, 3],
        "consumption_rate": 1,
        "limits": {"max_lag_seconds": 60},
    }
    page.get_by_label("A member processes").fill("1")
    page.get_by_label("A member processes").press("Tab")
    plan = service.post("/v1/member-count-plans", json=body).json
    page.locator(".verdict", has_text=plan["conclusion"]).wait_for()
    rows = page.locator("figure").first.locator("tbody tr")
    assert [row.locator("td").first.text_content() for row in rows.all()] == ["1", "2", "3"]


def test_of_a_large_group_some_numbers_of_members_are_planned(page):
    state = {
        "assignor": "range",
        "topics": [{"topic_name": "t", "partitions_count": 20_000}],
        "members": [{"member_id": f"m{i}"} for i in range(30)],
    }
    with page.expect_request("**/v1/member-count-plans") as asked:
        opened(page, link("members", state))
    counts = asked.value.post_data_json["members_counts"]
    assert (counts[0], counts[-1], len(counts)) == (1, 120, len({*counts}))
    assert 30 in counts
    assert page.locator(".verdict").inner_text().startswith("Worth using, of the numbers planned: 1, 2, 3, ")
    assert page.locator("figure").first.locator("tbody tr").count() == len(counts) < 30
    page.get_by_label("Planned up to").and_(page.get_by_placeholder(f"120, in {len(counts)} steps")).wait_for()


def filled(page, label, text):
    page.get_by_label(label, exact=True).fill(text)
    page.get_by_label(label, exact=True).press("Tab")


def test_pods_and_what_keda_would_choose_are_the_services_for_the_lag_of_a_snapshot(page, service):
    """Beside each number: its load, its drain time, the standstill of getting there, and whether it is worth using."""
    ends = [9_000 + 500 * i for i in range(12)]
    member = {"member_id": "m-1", "owned_partitions": [{"topic_name": "orders", "partition_ids": list(range(12))}]}
    committed = [{"topic_name": "orders", "partition_ids": list(range(11)), "offsets": [100 * i for i in range(11)]}]
    group = {"group_id": "billing", "group_protocol": "classic", "assignor": "range", "members": [member]}
    topic = {"topic_name": "orders", "partitions_count": 12}
    snapshot = {"topics": [topic | {"log_end_offsets": ends}], "groups": [group | {"committed_offsets": committed}]}
    opened(page, link("members", SMALL))
    pasted(page, json.dumps(snapshot))
    page.get_by_text("121,000 records of lag in all").wait_for()  # the last partition has no committed offset
    page.get_by_text("KEDA's ScaledObject").click()
    for label, text in [
        ("Members in a pod", "2"),
        ("lagThreshold", "20000"),
        ("Lag gone within, s", "20"),
        ("Tolerance, %", "0"),
    ]:
        filled(page, label, text)
    filled(page, "A member processes, records/s", "1500")
    lag = {"committed_offsets": [*committed[0]["offsets"], None], "log_end_offsets": ends}
    body = {
        "assignor": "range",
        "topics": [topic | {"lag": lag}],
        "members": [member],
        "consumption_rate": 1500,
        "threads_per_pod": 2,
        "limits": {"max_lag_seconds": 20},
        "keda": {"lag_threshold": 20_000, "tolerance": 0},
    }
    answer = service.post("/v1/member-count-plans", json=body).json
    chosen = next(plan for plan in answer["plans"] if plan["members_count"] == answer["recommended"])
    page.locator(".verdict", has_text=answer["conclusion"]).wait_for()
    page.get_by_text(f"in {chosen['pods']} pods").wait_for()
    page.locator("figure summary").first.click()
    shown = [row.locator("td").all_inner_texts() for row in page.locator("figure").first.locator("tbody tr").all()]
    for row, plan in zip(shown, answer["plans"], strict=True):
        assert row[:3] == [str(plan["members_count"]), str(plan["pods"]), "yes" if plan["gains"] else "no"]
        assert (row[3], row[7]) == (f"{plan['worst_load']:,.0f}", f"{plan['drain_seconds']:.1f}\N{NO-BREAK SPACE}s")
    keda = page.locator("section", has_text="What KEDA").locator("tbody tr")
    rows = [row.locator("td").all_inner_texts()[:4] for row in keda.all()]
    assert rows == [
        [p["option"] or "none", f"{p['total_lag']:,}", str(p["replicas"]), str(p["members_count"])] for p in answer["policies"]
    ]


def test_a_limit_that_cannot_be_kept_says_why(page):
    opened(page, link("members", SMALL))
    page.get_by_label("Lag gone within").fill("0.001")
    page.get_by_label("Lag gone within").press("Tab")
    page.get_by_text("no number planned surely keeps the limits").wait_for()


def test_a_snapshot_is_dropped_and_a_group_picked(page, tmp_path):
    member = {
        "member_id": "m-1",
        "rack_id": "b",
        "topic_names": ["orders"],
        "owned_partitions": [],
        "client_id": "c",
        "host": "h",
    }
    groups = [{"group_id": name, "group_protocol": "classic", "assignor": "range", "members": [member]} for name in ("a", "b")]
    topics = [{"topic_name": name, "partitions_count": 7, "internal": False} for name in ("orders", "others")]
    topics[0]["placements"] = [{"partition_id": i, "replicas": [i % 3, (i + 1) % 3]} for i in range(7)]
    brokers = [{"broker_id": i, "rack_id": rack} for i, rack in enumerate("abc")]
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps({"snapshot_version": 1, "brokers": brokers, "topics": topics, "groups": groups}))
    opened(page, "/#/groups")
    page.get_by_text("Take a group from Kafka").click()
    page.locator("input[type=file]").set_input_files(path)
    page.get_by_label("Group", exact=True).select_option("b")
    page.get_by_label("Subscription of m-1").wait_for()
    page.get_by_text("of 7 partitions").wait_for()
    page.locator(".figures > div", has_text="Read within its zone").get_by_text("71%").wait_for()  # five have a replica on rack b


def test_a_text_without_a_group_is_refused_in_a_sentence(page):
    opened(page, "/#/groups")
    pasted(page, "hello")
    page.get_by_role("alert").filter(has_text="No group with members was found").wait_for()
