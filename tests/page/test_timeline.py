"""The workbench Timeline."""

from __future__ import annotations

from tests.page.conftest import opened


def test_each_lane_is_what_the_service_simulates(page, client):
    opened(page, "/#/timeline")
    body = {
        "topics": [{"topic_name": "orders", "partitions_count": 24}],
        "members": [{"member_id": f"billing-{i}"} for i in range(1, 5)],
        "events": [
            {"at_ms": 20_000, "type": "member_joins", "member": {"member_id": "billing-5"}},
            {"at_ms": 60_000, "type": "member_crashes", "member_id": "billing-2"},
            {"at_ms": 150_000, "type": "rolling_restart", "down_ms": 4000, "pause_ms": 10_000},
        ],
        "timing": {"session_timeout_ms": 45_000, "poll_interval_ms": 500},
    }
    ways = [("classic", "cooperative-sticky"), ("classic", "range"), ("consumer", "uniform")]
    answers = [
        client.post("/v1/group-rebalances", json=body | {"group_protocol": protocol, "assignor": assignor}).json
        for protocol, assignor in ways
    ]
    rows = page.locator("section", has_text="The protocols beside each other").locator("tbody tr")
    shown = [row.locator("td").all_inner_texts() for row in rows.all()]
    totals = [answer["totals"] for answer in answers]
    assert [(row[1], row[4]) for row in shown] == [(str(each["rebalances"]), str(each["moved"])) for each in totals]


def test_generations_are_stepped_through(page):
    opened(page, "/#/timeline")
    page.get_by_role("heading", name="Rebalance 2 of").wait_for()
    page.get_by_role("button", name="Later").press("Enter")
    page.get_by_role("heading", name="Rebalance 3 of").wait_for()
    page.get_by_role("button", name="Earlier").click()
    page.get_by_role("heading", name="Rebalance 2 of").wait_for()


def test_an_event_that_cannot_be_is_named_beside_its_field(page):
    opened(page, "/#/timeline")
    field = page.get_by_label("Member", exact=True).nth(1)
    field.fill("nobody-9")
    field.press("Tab")
    page.get_by_role("alert").wait_for()
    page.locator("[aria-invalid=true]").wait_for()


def test_a_group_goes_on_from_groups(page):
    opened(page, "/#/groups")
    page.get_by_role("button", name="What happens over time").click()
    page.get_by_role("heading", name="Which rebalances do these events cause").wait_for()
    page.get_by_text("5 members;").or_(page.get_by_text("4 members;")).wait_for()
    page.get_by_role("heading", name="Rebalance 2 of").wait_for()
