"""The workbench Groups."""

from __future__ import annotations

import subprocess

from playwright.sync_api import expect

from tests.page.conftest import LARGEST_WAIT, MainThread, copied, downloaded, link, opened
from tests.support.programs import program

GROUP = {"group_protocol": "classic", "assignor": "range", "assignor_then": ""}


def test_the_answer_is_what_the_service_says(page, service):
    opened(page, "/#/groups")
    racks = [["a", "b"], ["b", "c"], ["c", "a"]]
    topics = [
        {"topic_name": name, "partitions_count": count, "partition_racks": (racks * count)[:count]}
        for name, count in [("orders", 18), ("payments", 12), ("refunds", 4)]
    ]
    members = [{"member_id": f"billing-{i + 1}", "rack_id": "abcab"[i]} for i in range(5)]
    before = service.post("/v1/group-assignments", json={"assignor": "range", "topics": topics, "members": members[:4]}).json
    for member, assigned in zip(members, before["assignments"], strict=False):
        member["owned_partitions"] = assigned["partitions"]
    after = service.post("/v1/group-assignments", json={"assignor": "range", "topics": topics, "members": members}).json
    assert page.locator(".verdict").inner_text() == after["conclusion"]
    moved = page.get_by_role("group", name="Who has what").locator("rect.taken")
    expect(moved).to_have_count(after["movement"]["moved"])
    assert page.locator(".figures dd").all_inner_texts()[1].split() == [str(after["member_load"]["max"]), "before:", "9"]


def test_on_a_phone_a_link_leads_past_the_form(page):
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, "/#/groups")
    page.get_by_role("button", name="Go to the answer").press("Enter")
    expect(page.locator(".verdict")).to_be_in_viewport()
    expect(page.locator(".answer")).to_be_focused()
    remove = page.get_by_role("button", name="Remove")
    count = remove.count()
    for removed in (1, 2, 3):
        remove.first.click()
        expect(remove).to_have_count(count - removed)
    expect(page.locator(".verdict")).to_have_text("range gives 5 members 0 partitions each.")
    page.set_viewport_size({"width": 1280, "height": 844})
    expect(page.get_by_role("button", name="Go to the answer")).not_to_be_visible()


def test_the_load_is_what_the_service_says(page, service):
    """Weights and capacities that are typed, of a topic that grows, under balanced and beside range."""
    state = GROUP | {
        "assignor_then": "balanced",
        "topics": [{"topic_name": "t", "partitions_count": 4, "partitions_then": 5}],
        "members": [{"member_id": "a"}, {"member_id": "b"}, {"member_id": "c", "change": "joins"}],
    }
    opened(page, link("groups", state))
    page.get_by_label("Load of a partition").select_option("weights")
    page.locator("summary", has_text="Subscriptions and capacities").click()
    for label, value in [("Weights of t", "10 20, 30; 60"), ("c: capacity", "2")]:
        page.get_by_label(label).fill(value)
        page.get_by_label(label).press("Tab")
    page.get_by_text("divided by their capacity").wait_for()
    owned = [[0, 1], [2, 3], []]
    members = [
        {"member_id": name, "owned_partitions": [{"topic_name": "t", "partition_ids": ids}]} if ids else {"member_id": name}
        for name, ids in zip("abc", owned, strict=True)
    ]
    members[2]["capacity"] = 2
    topic = {"topic_name": "t", "partitions_count": 5, "partition_weights": [10, 20, 30, 60, 30]}
    body = {"assignor": "balanced", "topics": [topic], "members": members, "compare": [{"assignor": "range"}]}
    answer = service.post("/v1/group-assignments?frontier=true", json=body).json
    assert page.locator(".verdict").inner_text() == answer["conclusion"]
    [of_range] = [each for each in answer["comparisons"] if each["assignor"] == "range"]
    a, b, c = of_range["weighted_member_load"]["totals"]
    row = page.get_by_role("row").filter(has=page.get_by_role("cell", name="range", exact=True))
    assert row.get_by_role("cell").nth(2).inner_text() == f"{max(a, b, c / 2):.0f}"
    totals = answer["weighted_member_load"]["totals"]
    bars = page.get_by_role("group", name="Load per member").locator("g > title").all_text_contents()
    assert [text.partition(" → ")[2] for text in bars] == [f"{load:.0f}" for load in (*totals[:2], totals[2] / 2)]


def test_racks_and_a_price_that_are_typed_give_what_crosses_zones(page, service):
    weights = [1e6, 2e6, 3e6, 4e6]
    state = GROUP | {
        "assignor": "roundrobin",
        "topics": [{"topic_name": "t", "partitions_count": 4, "partition_weights": weights}],
        "members": [{"member_id": name, "rack_id": name} for name in "abc"],
    }
    opened(page, link("groups", state)).locator("summary", has_text="Racks of partitions").click()
    page.get_by_label("Kafka release").select_option("3.9.2")
    for label, value in [("Racks of t", "a b, c"), ("Price of a GB", "0.02")]:
        page.get_by_label(label).fill(value)
        page.get_by_label(label).press("Tab")
    topic = {"topic_name": "t", "partitions_count": 4, "partition_weights": weights, "partition_racks": [["a", "b"], ["c"]] * 2}
    body = {"assignor": "roundrobin", "kafka_version": "3.9.2", "topics": [topic], "members": state["members"]}
    traffic = service.post("/v1/group-assignments", json=body | {"price_per_gb": 0.02}).json["zone_traffic"]
    page.locator(".figures > div", has_text="Price of the rest").get_by_text(f"{traffic['cost_per_month']:,.0f}").wait_for()
    share = f"{100 * traffic['local_share']:.0f}%"
    page.locator(".figures > div", has_text="Can be read within its zone").get_by_text(share).wait_for()
    assert page.get_by_label("Racks of t").input_value() == "a b, c"


def test_every_reader_of_a_share_group_is_drawn(page, service):
    state = {
        "group_protocol": "share",
        "assignor": "simple",
        "assignor_then": "",
        "topics": [{"topic_name": "t", "partitions_count": 4}],
        "members": [{"member_id": name, "change": "leaves" if name == "a" else ""} for name in "abcdef"],
    }
    body = {"group_protocol": "share", "assignor": "simple", "topics": state["topics"]}
    members = [{"member_id": name} for name in "abcdef"]
    before = service.post("/v1/group-assignments", json=body | {"members": members}).json["assignments"]
    owned = [{"member_id": each["member_id"], "owned_partitions": each["partitions"]} for each in before[1:]]
    after = service.post("/v1/group-assignments", json=body | {"members": owned}).json
    moved = after["movement"]["moved"]
    opened(page, link("groups", state))
    assert page.locator(".verdict").inner_text() == after["conclusion"]
    picture = page.get_by_role("group", name="Who has what")
    expect(picture.locator("rect.taken")).to_have_count(moved)
    expect(picture.locator("rect.kept")).to_have_count(after["movement"]["retained"])
    readers = [row.locator("td").last.text_content() for row in picture.locator("xpath=..").locator("tbody tr").all()]
    ids = {each["member_id"]: each["partitions"][0]["partition_ids"] for each in after["assignments"]}
    assert readers == [", ".join(name for name, has in ids.items() if i in has) for i in range(4)]


def test_balanced_moves_at_most_as_many_as_are_allowed(page):
    owned = [{"topic_name": "t", "partition_ids": [0, 1, 2, 3]}]
    members = [{"member_id": "a", "owned_partitions": owned}, {"member_id": "b", "change": "joins"}]
    state = GROUP | {"assignor": "balanced", "topics": [{"topic_name": "t", "partitions_count": 4}], "members": members}
    opened(page, link("groups", state))
    page.get_by_text("2 of 4 owned partitions move").wait_for()
    page.get_by_label("Moves at most").fill("1")
    page.get_by_label("Moves at most").press("Tab")
    page.get_by_text("1 of 4 owned partitions moves").wait_for()
    page.get_by_label("After the change", exact=True).select_option("range")
    page.locator(".fault", has_text="range cannot limit moves").wait_for()


def test_a_fault_in_a_list_is_shown_beside_its_field(page):
    opened(page, "/#/groups")
    page.get_by_label("Load of a partition").select_option("lag")
    field = page.get_by_label("End offsets of refunds")
    for value, fault in [("7, -, many, 9", "Not an integer"), ("1, 2, 3", "4 entries, one for each partition")]:
        field.fill(value)
        field.press("Tab")
        page.locator(f"#{field.get_attribute('id')}-fault", has_text=fault).wait_for()
        assert field.input_value() == value
    field.fill("50")
    field.press("Tab")
    page.get_by_role("heading", name="Lag per member").wait_for()
    assert field.input_value() == "50"


def test_a_fault_is_shown_beside_its_field(page):
    opened(page, "/#/groups")
    page.get_by_role("button", name="Add member").click()
    page.get_by_text("range gives 6 members").wait_for()
    page.get_by_label("Member 5").fill("billing-1")
    page.get_by_label("Member 5").press("Tab")
    page.get_by_role("alert").wait_for()
    page.get_by_label("Partitions of orders", exact=True).fill("0")
    page.get_by_label("Partitions of orders", exact=True).press("Tab")
    field = page.get_by_label("Partitions of orders", exact=True).and_(page.locator("[aria-invalid=true]"))
    field.wait_for()
    assert "greater than or equal to 1" in page.locator(f"#{field.get_attribute('aria-describedby')}").inner_text()


def test_of_long_ids_the_part_that_tells_them_apart_is_shown(page):
    ids = [f"consumer-billing-1-{i * 2654435761 % 2**32:08x}-f18d-4a18-89e2-6d48015fb933" for i in range(1, 26)]
    opened(
        page,
        link(
            "groups",
            GROUP | {"topics": [{"topic_name": "t", "partitions_count": 25}], "members": [{"member_id": id_} for id_ in ids]},
        ),
    )
    shorts = [f"…{id_.split('-')[3]}…" for id_ in ids]
    fields = page.locator(".rows").nth(1).locator("tbody tr td:first-child input")
    assert fields.evaluate_all("(all) => all.map((each) => [each.value, each.title])") == [
        list(row) for row in zip(shorts, ids, strict=True)
    ]
    expect(page.get_by_role("group", name="Who has what").locator("text.label")).to_have_text(["t", *shorts])
    fields.first.focus()
    expect(fields.first).to_have_value(ids[0])  # to be edited
    fields.first.fill("first")
    fields.first.press("Tab")
    expect(fields.first).to_have_value("first")


def test_names_are_data_and_never_markup(page):
    name = """<img src=x onerror=alert(1)>${1}'"`id`\\ !!\n\u202e"""
    state = GROUP | {
        "topics": [{"topic_name": "<b>", "partitions_count": 3}],
        "members": [{"member_id": name}, {"member_id": "'--"}],
    }
    opened(page, link("groups", state))
    assert page.locator("img, b").count() == 0
    assert page.locator("svg title", has_text="<img").count() > 0
    assert_the_command_gives_the_answer(page)


def assert_the_command_gives_the_answer(page):
    """The first request, pasted into a shell."""
    curl, row = program("curl"), page.locator(".requests li").first
    command = copied(page, row.get_by_role("button", name="Copy as curl")).replace("curl", f"{curl} -s", 1)
    done = subprocess.run(["/bin/sh"], input=command, capture_output=True, text=True, check=True, timeout=LARGEST_WAIT / 1000)
    assert done.stdout == downloaded(page, row, "JSON").decode()


def test_a_large_group_stays_fluent(page):
    state = GROUP | {
        "assignor": "cooperative-sticky",
        "topics": [{"topic_name": f"t{i}", "partitions_count": 1000} for i in range(100)],
        "members": [{"member_id": f"m{i}", "change": "joins" if i == 999 else ""} for i in range(1000)],
    }
    opened(page, link("groups", state))
    page.get_by_text("cooperative-sticky gives 1,000 members").wait_for()
    assert_the_command_gives_the_answer(page)
    assert page.locator(".figures dd").first.inner_text().startswith("100\n")
    thread = MainThread(page)
    page.get_by_label("Change of m0", exact=True).select_option("leaves")
    page.get_by_text("cooperative-sticky gives 999 members").wait_for()
    assert thread.seconds() < 1.5  # 0.5 s, in some tasks


def test_assignors_of_other_clients_are_behind_a_choice(page):
    opened(page, "/#/groups")
    assignor = page.get_by_label("Assignor", exact=True)
    assignor.locator("option", has_text="cooperative-sticky, cooperative").wait_for(state="attached")
    names = assignor.locator("option").all_text_contents()
    assert {"range, eager", "balanced, cooperative", "other clients …"} < {*names}
    assert not any(":" in name for name in names)
    assignor.select_option("other clients …")
    with page.expect_request("**/v1/group-assignments") as asked:
        page.get_by_label("Assignor, of other clients").select_option("sarama:sticky, eager")
    assert asked.value.post_data_json["assignor"] == "sarama:sticky"
    expect(assignor).to_have_value("other clients")
    assignor.select_option("range")
    expect(page.get_by_label("Assignor, of other clients")).to_have_count(0)
