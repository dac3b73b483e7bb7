"""The workbench Timeline."""

from __future__ import annotations

import json

from playwright.sync_api import expect

from tests.page.conftest import link, opened


def test_each_lane_is_what_the_service_simulates(page, service):
    opened(page, "/#/timeline")
    body = {
        "topics": [{"topic_name": "orders", "partitions_count": 24}],
        "members": [{"member_id": f"billing-{i}"} for i in range(1, 5)],
        "events": [
            {"at_ms": 20_000, "type": "member_joins", "member": {"member_id": "billing-5"}},
            {"at_ms": 60_000, "type": "member_crashes", "member_id": "billing-2"},
            {"at_ms": 150_000, "type": "rolling_restart", "down_ms": 4000, "pause_ms": 10_000},
        ],
        "timing": {"session_timeout_ms": 45_000},
    }
    ways = [("classic", "cooperative-sticky"), ("classic", "range"), ("consumer", "uniform")]
    answers = [
        service.post("/v1/group-rebalances", json=body | {"group_protocol": protocol, "assignor": assignor}).json
        for protocol, assignor in ways
    ]
    rows = page.locator("section", has_text="The protocols compared").locator("tbody tr")
    shown = [row.locator("td").all_inner_texts() for row in rows.all()]
    totals = [answer["totals"] for answer in answers]
    assert [(row[1], row[5]) for row in shown] == [(str(each["rebalances"]), str(each["moved"])) for each in totals]


def test_a_lane_may_be_eager_or_have_static_members(page, service):
    state = {
        "topics": [{"topic_name": "orders", "partitions_count": 24}],
        "members": [{"member_id": f"pod-{i}"} for i in range(5)],
    }
    state["events"] = [
        {"at_ms": 20_000, "type": "member_restarts", "member_id": "pod-3", "down_ms": 8000},
        {"at_ms": 60_000, "type": "member_joins", "member": {"member_id": "pod-5"}},
    ]
    ways = [{"group_protocol": "classic", "assignor": name} for name in ("balanced", "range")]
    opened(page, link("timeline", state | {"ways": ways, "generation": 0}))
    page.get_by_label("Shown in detail").select_option("balanced, eager")
    page.get_by_label("static members").last.check()
    page.get_by_label("Members at the start").fill("6")
    page.get_by_label("Members at the start").press("Tab")
    page.locator("figure").last.locator("svg .label", has_text="pod-6").wait_for()
    state["members"].append({"member_id": "pod-6"})
    lanes = [{"assignor": "balanced", "rebalance_protocol": "eager"}, {"assignor": "range", "static": True}]
    answer = service.post("/v1/group-rebalances", json=state | {"assignor": "sticky", "compare": lanes}).json
    rows = page.locator("section", has_text="The protocols compared").locator("tbody tr")
    shown = [row.locator("td").all_inner_texts() for row in rows.all()]
    assert [row[0] for row in shown] == ["balanced, eager", "range, static members"]
    totals = [each["totals"] for each in answer["comparisons"]]
    assert [(row[1], row[5]) for row in shown] == [(str(each["rebalances"]), str(each["moved"])) for each in totals]
    assert totals[0]["rebalances"] > totals[1]["rebalances"]  # a static member comes back to what it had


def test_generations_are_stepped_through(page):
    opened(page, "/#/timeline")
    page.get_by_role("heading", name="Rebalance 1 of").wait_for()
    page.get_by_role("button", name="Later").press("Enter")
    page.get_by_role("heading", name="Rebalance 2 of").wait_for()
    page.get_by_role("button", name="Earlier").click()
    page.get_by_role("heading", name="Rebalance 1 of").wait_for()
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/v1/" in request.url else None)
    for key, heading in [("End", "Rebalance 15 of 15"), ("ArrowLeft", "Rebalance 14 of 15"), ("Home", "Rebalance 1 of 15")]:
        page.get_by_label("Rebalance", exact=True).press(key)
        page.get_by_role("heading", name=heading).wait_for()
    assert asked == []  # the answer has them all


def test_added_racks_and_partitions_are_listed(page, service):
    opened(page, "/#/timeline")
    page.locator("summary", has_text="Request as JSON").click()
    raw = page.get_by_label("Request as JSON")
    body = json.loads(raw.input_value())
    body["topics"] = [{"topic_name": "orders", "partitions_count": 4, "partition_racks": [["a"], ["b"], ["a"], ["c"]]}]
    body["members"] = [{"member_id": "m1", "rack_id": "a"}, {"member_id": "m2", "rack_id": "b"}]
    body["events"] = [{"at_ms": 30_000, "type": "partitions_added", "topic_name": "orders", "partitions_count": 9}]
    raw.fill(json.dumps(body))
    raw.press("Tab")
    page.get_by_role("columnheader", name="can be read within its zone").wait_for()
    *_, last = service.post("/v1/group-rebalances", json=body).json["rebalances"]
    share = f"{100 * last['zone_traffic']['local_share']:.0f}%"
    page.locator(".figures > div", has_text="Can be read within its zone").get_by_text(share).wait_for()
    page.get_by_label("Rebalance", exact=True).press("End")
    picture = page.get_by_role("group", name="Rebalance")
    expect(picture.locator("rect.kept, rect.taken")).to_have_count(9)


def test_every_kind_of_event_is_one_that_the_service_takes(page):
    opened(page, "/#/timeline")
    for name in ("classic:range", "consumer:uniform"):
        way = page.get_by_role("button", name=f"Remove {name}")
        way.click()
        expect(way).to_have_count(0)
    remove = page.get_by_role("button", name="Remove the event")
    for left in (2, 1):
        remove.last.click()
        expect(remove).to_have_count(left)  # or the next click meets the button that goes
    kind = page.get_by_label("What happens")
    first, *others = kind.evaluate("(select) => [...select.options].map((option) => option.value)")
    assert len(others) == 11
    for each in (*others, first):
        with page.expect_response(lambda got, each=each: f'"type":"{each}"' in (got.request.post_data or "")) as answered:
            kind.select_option(each)
        assert answered.value.status == 200, (each, answered.value.text())


def test_partitions_that_are_added_stand_still_until_somebody_reads_them(page, service):
    opened(page, "/#/timeline")
    page.locator("summary", has_text="Request as JSON").click()
    raw = page.get_by_label("Request as JSON")
    body = json.loads(raw.input_value())
    body["events"] = [{"at_ms": 30_000, "type": "partitions_added", "topic_name": "orders", "partitions_count": 30}]
    raw.fill(json.dumps(body))
    raw.press("Tab")
    page.get_by_text("The height of a lane is all 30 partitions").wait_for()
    page.locator("figure summary").first.click()
    rows = [row.locator("td").all_inner_texts() for row in page.locator("figure").first.locator("tbody tr").all()]
    first = [(int(at.replace(",", "")), int(idle)) for name, at, idle in rows if name == "cooperative-sticky"]
    members = service.post("/v1/group-rebalances", json=body).json["members"]
    for at, idle in first:
        read = [[n for when, n in zip(*m["reads"].values(), strict=True) if when <= at][-1:] for m in members]
        assert idle == (24 if at < 30_000 else 30) - sum(map(sum, read)), at
    assert (30_000, 6) in first


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
    assert page.get_by_label("Members at the start").input_value() == "4"
    page.get_by_role("heading", name="Rebalance 1 of").wait_for()


def test_the_start_of_the_group_is_no_standstill_that_events_cause(page):
    opened(page, "/#/timeline")
    figure = page.locator("figure", has_text="Standstill over time")
    figure.locator("summary").click()
    rows = [row.locator("td").all_inner_texts() for row in figure.locator("tbody tr").all()]
    assert min(int(row[1].replace(",", "")) for row in rows) == 20_000  # the first event
