"""The workbench Groups."""

from __future__ import annotations

from tests.page.conftest import link, opened

GROUP = {"group_protocol": "classic", "assignor": "range", "assignor_then": ""}


def test_the_answer_is_what_the_service_says(page, client):
    opened(page, "/#/groups")
    racks = [["a", "b"], ["b", "c"], ["c", "a"]]
    topics = [
        {"topic_name": name, "partitions_count": count, "partition_racks": (racks * count)[:count]}
        for name, count in [("orders", 18), ("payments", 12), ("refunds", 4)]
    ]
    members = [{"member_id": f"billing-{i + 1}", "rack_id": "abcab"[i]} for i in range(5)]
    before = client.post("/v1/group-assignments", json={"assignor": "range", "topics": topics, "members": members[:4]}).json
    for member, assigned in zip(members, before["assignments"], strict=False):
        member["owned_partitions"] = assigned["partitions"]
    after = client.post("/v1/group-assignments", json={"assignor": "range", "topics": topics, "members": members}).json
    moved, least = (after["movement"][name] for name in ("moved", "fewest_possible_moves"))
    expected = f"When billing-5 joins, range moves {moved} of 34 partitions; loads as even need only {least}."
    assert page.locator(".verdict").inner_text() == expected
    assert page.locator("rect.taken").count() - 1 - sum(count > 0 for count in [5]) == moved  # less those of legend and loads
    assert page.locator(".figures dd").all_inner_texts()[1].split() == [str(after["member_load"]["max"]), "before:", "9"]


def test_the_keyboard_alone_adds_a_member(page):
    opened(page, "/#/groups")
    page.get_by_role("button", name="Add member").focus()
    page.keyboard.press("Enter")
    page.get_by_text("billing-5 and billing-6 join").wait_for()


def test_a_fault_is_shown_beside_its_field(page):
    opened(page, "/#/groups")
    page.get_by_label("Member 5").fill("billing-1")
    page.get_by_label("Member 5").press("Tab")
    page.get_by_role("alert").wait_for()
    page.get_by_label("Partitions of orders", exact=True).fill("0")
    page.get_by_label("Partitions of orders", exact=True).press("Tab")
    field = page.locator("[aria-invalid=true]")
    field.wait_for()
    assert field.get_attribute("aria-label") == "Partitions of orders"
    assert "greater than or equal to 1" in page.locator(f"#{field.get_attribute('aria-describedby')}").inner_text()


def test_names_are_data_and_never_markup(page):
    name = "<img src=x onerror=alert(1)>${1}\u202e"
    state = GROUP | {
        "topics": [{"topic_name": "<b>", "partitions_count": 3}],
        "members": [{"member_id": name}, {"member_id": "'--"}],
    }
    opened(page, link("groups", state))
    assert page.locator("img, b").count() == 0
    assert page.locator("svg title", has_text="<img").count() > 0


def test_a_large_group_stays_fluent(page):
    state = GROUP | {
        "assignor": "cooperative-sticky",
        "topics": [{"topic_name": f"t{i}", "partitions_count": 1000} for i in range(100)],
        "members": [{"member_id": f"m{i}", "change": "joins" if i == 999 else ""} for i in range(1000)],
    }
    opened(page, link("groups", state))
    page.get_by_text("When m999 joins").wait_for()
    assert page.locator(".figures dd").first.inner_text().startswith("100\n")
    busy = page.evaluate(
        """async () => {
        let longest = 0;
        new PerformanceObserver((list) => { for (const e of list.getEntries()) longest = Math.max(longest, e.duration); })
          .observe({ type: 'longtask' });
        const select = document.querySelector('[aria-label="Change of m0"]');
        select.value = 'leaves';
        select.dispatchEvent(new Event('change', { bubbles: true }));
        const verdict = document.querySelector('.verdict');
        while (!verdict.textContent.includes('m0 leaves')) await new Promise((go) => setTimeout(go, 50));
        return longest;
    }"""
    )
    assert busy < 1000
