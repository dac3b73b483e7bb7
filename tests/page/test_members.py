"""The workbench Members, and groups that are pasted."""

from __future__ import annotations

import json

from playwright.sync_api import expect

from tests.page.conftest import link, opened, pasted

DESCRIBED_TOPIC = "Topic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n"
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


def test_the_recommendation_is_the_services(page, service):
    opened(page, link("members", SMALL))
    pasted(page, DESCRIBED)
    expect(page.get_by_label("Lag in all, records")).to_have_value("100")  # the last partition has no committed offset
    owned = [("c-1", [0, 1]), ("c-2", [2])]
    lag = {"committed_offsets": [100, 100, None], "log_end_offsets": [160, 140, 90]}
    body = {
        "topics": [{"topic_name": "orders", "partitions_count": 3, "lag": lag}],
        "members": [
            {"member_id": name, "owned_partitions": [{"topic_name": "orders", "partition_ids": ids}]} for name, ids in owned
        ],
        "consumption_rate": 1,
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
    expect(page.get_by_label("Lag in all, records")).to_have_value("121000")  # the last partition has no committed offset
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
    page.get_by_label("Option that is configured").select_option("allowIdleConsumers")
    (configured,) = [p["members_count"] for p in answer["policies"] if p["option"] == "allowIdleConsumers"]
    page.locator("figure").first.get_by_text(f"KEDA: {configured}").wait_for()
    expect(keda.last.locator("td").first).to_have_text("allowIdleConsumers, as configured")


def test_a_limit_that_cannot_be_kept_says_why(page):
    opened(page, link("members", SMALL))
    page.get_by_label("Lag gone within").fill("0.001")
    page.get_by_label("Lag gone within").press("Tab")
    page.locator(".verdict", has_text="No number of members is within the limits").wait_for()


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
    page.locator("input[type=file]").first.set_input_files(path)
    page.get_by_label("Group", exact=True).select_option("b")
    page.locator("summary", has_text="Subscriptions and capacities").click()
    expect(page.get_by_label("Subscription of m-1")).to_have_value("orders")
    page.get_by_text("range gives 1 member 7 partitions").wait_for()
    page.locator(".figures > div", has_text="Can be read within its zone").get_by_text("71%").wait_for()  # five of rack b


def test_a_text_without_a_group_is_refused_in_a_sentence(page):
    opened(page, "/#/groups")
    pasted(page, "hello")
    page.get_by_role("alert").filter(has_text="line 1: Not the output of").wait_for()
    pasted(page, DESCRIBED_TOPIC)
    page.get_by_role("alert").filter(has_text="A group with its members is needed").wait_for()


def test_topics_and_members_are_removed_and_the_lag_is_one_number(page):
    opened(page, "/#/members")
    page.get_by_role("button", name="Remove refunds").click()
    filled(page, "Partitions of orders", "48")
    filled(page, "Lag in all, records", "2000000")
    filled(page, "A member processes, records/s", "3000")
    page.locator(".verdict", has_text="12 members are the fewest within the limits").wait_for()
    page.locator(".figures").get_by_text("gone after 55.6").wait_for()
    page.get_by_role("button", name="Remove orders").click()
    page.get_by_role("alert").wait_for()  # a limit needs a lag
    expect(page.locator(".stale .verdict")).to_have_count(1)
    for label in ("A member processes, records/s", "Lag gone within, s"):
        filled(page, label, "")
    filled(page, "Members now", "0")
    expect(page.get_by_label("Lag in all, records")).to_have_value("")
    page.locator(".verdict", has_text="There is nothing to read").wait_for()
