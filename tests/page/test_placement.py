"""The workbench Placement."""

from __future__ import annotations

import json
import re

from click.testing import CliRunner
from playwright.sync_api import expect

from partition_allocator import assign, check, read, reassign
from service.cli import main
from tests.page.conftest import link, linked, opened, pasted
from tests.support.golden import PROJECT

CLUSTER = PROJECT / "tests" / "cases" / "operators-cluster"

DESCRIBED = """\
Topic: orders\tTopicId: kJ5mZYJmQ_K4cXmVbGt2Wg\tPartitionCount: 3\tReplicationFactor: 2\tConfigs:
\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2
\tTopic: orders\tPartition: 1\tLeader: 2\tReplicas: 2,3\tIsr: 2,3
\tTopic: orders\tPartition: 2\tLeader: 3\tReplicas: 3,1\tIsr: 3,1
"""


def test_a_paste_replaces_the_example_and_what_it_lacks_is_unknown(page, service):
    opened(page, "/#/placement")
    for text, label in [(DESCRIBED, "Paste your own"), ("broker,rack\n1,x\n2,y\n3,z\n", "Complete what was read")]:
        texts = [DESCRIBED] if text == DESCRIBED else [DESCRIBED, text]
        read = service.post("/v1/descriptions?bodies=true", json={"texts": texts}).json
        with page.expect_request("**/v1/placement-checks") as asked:
            pasted(page, text, label)
        assert asked.value.post_data_json == read["bodies"]["reassignment"]  # no rack or rate of the example
        page.locator(".read").get_by_text(read["conclusion"], exact=True).wait_for()
        expect(page.locator(".answer")).to_be_focused()
        assert page.get_by_label("Throttle, MB/s").input_value() == ""
        racks = ["rack unknown"] if text == DESCRIBED else ["rack x", "rack y", "rack z"]
        expect(page.locator(".rack h4")).to_have_text(racks)


def test_an_operators_cluster_is_told_alike_at_every_door(page):
    """The command line, the page and the library: what is at risk, what draining a broker does, and who has what in a group."""
    files = {name: str(CLUSTER / name) for name in ("topics.txt", "racks.csv", "members.txt")}
    texts = {name: (CLUSTER / name).read_text() for name in files}

    def terminal(*command):
        return " ".join(CliRunner().invoke(main, [*command, "--output", "table"]).stdout.split())

    def shown():
        return " ".join([page.locator(".verdict").inner_text(), *page.locator(".effects li").all_inner_texts()])

    asked = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/v1/")[2]))
    opened(page, "/#/placement")
    asked.clear()
    pasted(page, texts["topics.txt"])
    page.locator(".verdict", has_text="racks are not known").wait_for()
    pasted(page, texts["racks.csv"], "Complete what was read")
    page.locator(".verdict", has_text="3 of 805 partitions are not rack-safe: audit-log 2 and 5, returns 0.").wait_for()
    assert {*asked} == {"descriptions?bodies=true", "placement-checks"}  # nothing is planned unasked
    described = read(texts["topics.txt"], texts["racks.csv"], bodies=True)["bodies"]["reassignment"]
    library = check(described["brokers"], described["topics"])
    sentences = " ".join([library["conclusion"], *library["warnings"]])
    assert shown() == sentences
    for command in ("check", "audit"):
        assert terminal(command, files["topics.txt"], "--snapshot", files["racks.csv"]).startswith(sentences)
    page.get_by_role("button", name="broker 7").click()
    page.locator(".verdict", has_text="Empties broker 7 with 213 copies").wait_for()
    brokers = [{**broker, "draining": broker["broker_id"] == 7} for broker in described["brokers"]]
    plan = reassign(brokers, described["topics"])
    assert shown() == " ".join([plan["conclusion"], *plan["effects"], *plan["warnings"]])
    printed = terminal("reassign", files["topics.txt"], "--snapshot", files["racks.csv"], "--drain", "7")
    assert printed.startswith(" ".join([plan["conclusion"], *plan["effects"]]))
    page.get_by_role("button", name="broker 7").click()
    page.locator(".verdict", has_text="3 of 805 partitions are not rack-safe").wait_for()
    opened(page, "/#/groups")
    pasted(page, texts["members.txt"])
    pasted(page, texts["topics.txt"], "Complete what was read")
    page.locator(".verdict", has_text="gives 25 members").wait_for()
    [group] = read(texts["members.txt"], texts["topics.txt"], bodies=True)["bodies"]["group_assignments"]
    assert shown().startswith(assign(group.pop("topics"), group.pop("members"), **group)["conclusion"])
    assert terminal("assign", files["members.txt"], "--snapshot", files["topics.txt"]).startswith(
        page.locator(".verdict").inner_text()
    )


def test_brokers_are_drained_and_added_by_clicking_and_the_plan_is_the_services(page, service):
    opened(page, "/#/placement")
    pasted(page, DESCRIBED)
    page.get_by_text("orders: 3 partitions on 3 brokers").wait_for()
    page.get_by_role("button", name="broker 3").click()
    page.get_by_text("Empties broker 3").first.wait_for()
    page.get_by_role("button", name="Add broker to rack unknown").click()
    page.get_by_role("button", name="broker 4 new").wait_for()
    body = service.post("/v1/descriptions?bodies=true", json={"texts": [DESCRIBED]}).json["bodies"]["reassignment"]
    body["brokers"] = [{"broker_id": i, "draining": i == 3} for i in range(1, 5)]
    plan = service.post("/v1/reassignments", json=body).json
    [*_, added] = plan["after"]["broker_load"]["replicas"]["counts"]
    page.get_by_role("button", name=f"broker 4 new 0 → {added}").wait_for()
    assert page.locator(".verdict").inner_text() == plan["conclusion"]
    for name in ("reassignment", "rollback"):
        with page.expect_download() as downloaded:
            page.get_by_role("button", name=f"{name}.json", exact=True).click()
        assert json.loads(downloaded.value.path().read_text()) == plan[name]
    page.get_by_role("button", name="broker 3").press("Enter")  # by the keyboard, it stays again
    page.get_by_role("button", name="broker 3", pressed=False).wait_for()


def test_brokers_that_are_added_are_offered_to_be_filled(page):
    opened(page, "/#/placement")
    pasted(page, DESCRIBED)
    for broker in (4, 5):
        page.get_by_role("button", name="Add broker to rack unknown").click()
        page.get_by_role("button", name=f"broker {broker} new").wait_for()
    with page.expect_request("**/v1/reassignments") as asked:
        page.get_by_role("button", name="Fill brokers 4 and 5").click()
    assert asked.value.post_data_json["objective"] == "even"
    assert asked.value.post_data_json["destinations"] == [4, 5]
    page.get_by_role("button", name="broker 4 new 0 → 1").wait_for()
    assert page.get_by_role("button", name="Fill").count() == 0


def filled(page, label, text):
    field = page.get_by_label(label, exact=True)
    field.fill(text)
    field.press("Tab")


def test_every_field_is_asked_however_fast_they_are_filled_and_is_in_the_link(page, service, other_page):
    opened(page, "/#/placement")
    for name in ("More about batches", "Topics, brokers, disks", "Disks, weights", "Request as JSON"):
        page.locator("summary", has_text=name).click()
    raw = page.get_by_label("Request as JSON")
    expected = json.loads(raw.input_value())
    page.get_by_label("Replicas", exact=True).select_option("even")
    page.get_by_label("Leaders", exact=True).select_option("keep")
    filled(page, "Copies at most", "20")
    filled(page, "GB per batch", "60")
    filled(page, "Throttle reached, %", "75")
    filled(page, "Only these topics change", "orders, pay*")
    filled(page, "Only these brokers get replicas", "6, 7, 8")
    filled(page, "Brokers of some topics, one set per line", "audit: 1, 2, 4, 5, 6\n*: 1, 2, 4, 5, 6, 7, 8")
    filled(page, "Disks at most, % full", "85")
    filled(page, "Price of a GB across zones", "0.02")
    filled(page, "Broker 8: disks, GB", "400")
    filled(page, "Broker 8: used now, GB", "20")
    filled(page, "Broker 8: rack", "d")
    filled(page, "Fewest leaders of a topic on each broker, one rule per line", "orders: 1 on 2, 4\npay*: 1 on 2")
    page.get_by_label("New brokers may replace missing ones").check()
    page.get_by_label("Pressing a broker means to").select_option("demoted")
    page.get_by_role("button", name="broker 1").click()
    page.get_by_role("button", name="broker 1 demoted").wait_for()
    expected["brokers"][7] |= {"rack_id": "d", "capacity_bytes": 400_000_000_000, "used_bytes": 20_000_000_000}
    expected["brokers"][0]["demoted"] = True
    expected["limits"] |= {"bytes_in_flight": 60_000_000_000, "throttle_utilization": 0.75}
    expected |= {"objective": "even", "leaders": "keep", "max_moves": 20, "destinations": [6, 7, 8], "disk_threshold": 0.85}
    expected |= {"included_topics": ["orders", "pay*"], "price_per_gb": 0.02}
    expected |= {"infer_replaces": True}
    expected["min_topic_leaders"] = [
        {"topics": "orders", "leaders": 1, "broker_ids": [2, 4]},
        {"topics": "pay*", "leaders": 1, "broker_ids": [2]},
    ]
    expected["broker_sets"] = [
        {"topics": "audit", "broker_ids": [1, 2, 4, 5, 6]},
        {"topics": "*", "broker_ids": [1, 2, 4, 5, 6, 7, 8]},
    ]
    assert json.loads(raw.input_value()) == expected
    effect = service.post("/v1/reassignments", json=expected).json["conclusion"]
    page.locator(".verdict", has_text=effect).wait_for()
    page.wait_for_url(lambda url: '"demoted":true' in linked(url))
    again = opened(other_page, page.url)
    again.locator(".verdict", has_text=effect).wait_for()
    again.get_by_role("button", name="broker 1 demoted").wait_for()
    filled(page, "And then, in this order", "leaders")
    page.locator("#f-min_topic_leaders-fault").wait_for(state="detached")
    expect(raw).to_have_value(re.compile(r'"balance": \[ "replicas", "leaders" \]'))


def test_the_request_is_edited_as_json_and_faults_have_their_line(page):
    opened(page, "/#/placement")
    page.locator("summary", has_text="Request as JSON").click()
    raw = page.get_by_label("Request as JSON")
    body = json.loads(raw.input_value())
    faults = page.locator(".faults")
    for text, fault in [("{", "This is not JSON"), ('{"brokers": 5}', "/brokers: a list is needed here.")]:
        raw.fill(text)
        raw.press("Tab")
        faults.get_by_text(fault).wait_for()
        expect(page.locator(".stale .verdict")).to_be_visible()
    body["topics"][1]["placements"][2]["replicas"] = [1, "x"]
    raw.fill(json.dumps(body))
    raw.press("Tab")
    faults.get_by_text("/topics/1/placements/2/replicas/1").wait_for()
    faults.get_by_role("button", name="line").press("Enter")
    selected = raw.evaluate("(area) => area.value.slice(area.selectionStart, area.selectionEnd)")
    assert json.loads(selected.strip().rstrip(",")) == body["topics"][1]["placements"][2]
    kafkas = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 9]}]}
    raw.fill(json.dumps({"brokers": [{"broker_id": 1}, {"broker_id": 2}], "reassignment": kafkas}))
    raw.press("Tab")
    page.locator(".verdict", has_text="Empties broker 9 with 1 copy").wait_for()
    page.get_by_text("t: 1 partition on 2 brokers").wait_for()


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
    field.fill(json.dumps({"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": "1,2"}]}))
    field.press("Tab")
    row = page.locator("section", has_text="The checked reassignment JSON").locator("tbody tr")
    row.filter(has_text="/reassignment/partitions/0/replicas").filter(has_text="Not a valid list.").wait_for()
    assert page.get_by_role("alert").count() == 0  # the plan stands
    field.fill("{")
    field.press("Tab")
    page.get_by_text("This is not JSON").wait_for()


def test_a_text_of_another_kind_is_refused_in_a_sentence(page):
    opened(page, "/#/placement")
    pasted(page, "hello")
    page.get_by_role("alert").filter(has_text="line 1: Not the output of kafka-topics --describe").wait_for()
    expect(page.locator(".stale .verdict")).to_be_visible()  # it is none to what was pasted
    pasted(page, "broker,rack\n1,a\n")
    page.get_by_role("alert").filter(has_text="Read 1 broker. Where replicas are is needed").wait_for()
    pasted(page, DESCRIBED, "Complete what was read")
    page.get_by_text("orders: 3 partitions on 3 brokers").wait_for()
    assert page.get_by_role("alert").count() == 0


def test_a_large_cluster_is_shown_by_topic(page):
    placements = [{"partition_id": i, "replicas": [i % 75, (i + 7) % 75, (i + 32) % 75]} for i in range(1000)]
    topics = [{"topic_name": f"topic-{t}", "placements": placements} for t in range(5)]
    brokers = [{"broker_id": i, "rack_id": "abc"[i % 3], "draining": i == 5} for i in range(75)]
    opened(page, link("placement", {"brokers": brokers, "topics": topics}))
    page.get_by_text("Replicas of each topic and broker").wait_for()
    page.get_by_text("Empties broker 5 with 200 copies").first.wait_for()
    page.get_by_text("of 75 brokers the 60 of which most replicas change").wait_for()
    expect(page.get_by_role("group", name="2 · Plan").locator("rect.lane")).to_have_count(5 * 60)
    assert page.locator(".verdict").bounding_box()["y"] < 900  # however many brokers there are to select


def test_a_long_request_is_cancelled_and_asked_again(page):
    opened(page, "/#/placement")
    page.route("**/v1/reassignments", lambda _: None)  # never answered
    page.get_by_role("button", name="broker 4").click()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("alert").get_by_text("Cancelled").wait_for()
    page.get_by_role("button", name="broker 4 drains").wait_for()
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()
    page.locator(".verdict", has_text="Empties brokers 3, 4").wait_for()
    assert page.get_by_role("alert").count() == 0


def test_resources_have_weights_and_rates_are_typed(page, service):
    opened(page, "/#/placement")
    for name in ("Disks, weights", "Request as JSON"):
        page.locator("summary", has_text=name).click()
    raw = page.get_by_label("Request as JSON")
    expected = json.loads(raw.input_value())
    page.get_by_label("Resource to even out", exact=True).select_option("weights")
    filled(page, "CPU", "2")
    fault = page.locator("#f-balance-fault", has_text="partition_bytes_per_second are required")
    fault.filter(has_text="partition_bytes_out_per_second are required").wait_for()
    filled(page, "leaders", "0")
    page.locator("#f-balance-leaders-fault").wait_for()
    filled(page, "leaders", "")
    filled(page, "replicas", "")
    filled(page, "bytes", "0.5")
    for topic in expected["topics"]:
        count = len(topic["placements"])
        for name, text, rates in [("Written to", "1e6", [1e6] * count), ("Read from", "3, 2", [3, 2])]:
            field = "partition_bytes_per_second" if name == "Written to" else "partition_bytes_out_per_second"
            filled(page, f"{name} {topic['topic_name']}", text)
            topic[field] = rates
    page.locator("#f-topics-0-partition_bytes_out_per_second-fault").wait_for()  # two rates of twelve partitions
    for topic in expected["topics"]:
        filled(page, f"Read from {topic['topic_name']}", "2000000")
        topic["partition_bytes_out_per_second"] = [2e6] * len(topic["placements"])
    for broker in expected["brokers"]:
        broker["cpu_usage"] = 1.5
        filled(page, f"Broker {broker['broker_id']}: CPU now, cores", "1.5")
    expected["balance"] = {"cpu": 2, "bytes": 0.5}
    expect(raw).to_have_value(re.compile(rf'"broker_id": {broker["broker_id"]}\b[^{{}}]*"cpu_usage": 1.5'))
    assert json.loads(raw.input_value()) == expected
    plan = service.post("/v1/reassignments", json=expected).json
    page.locator(".verdict", has_text=f"with {plan['moves']['replicas']} copies").wait_for()
    page.get_by_label("Resource to even out", exact=True).select_option("bytes")
    expect(raw).to_have_value(re.compile('"balance": "bytes"'))


def test_a_snapshot_has_what_producers_write(page):
    placements = [{"partition_id": i, "replicas": [1, 2]} for i in range(2)]
    looks = {"bytes_per_second": [500, None], "records_per_second": [1, 10], "partition_bytes": [100, 2000]}
    offsets = {"log_start_offsets": [0, 100], "log_end_offsets": [1, 200]}  # 20 bytes a record
    topics = [{"topic_name": "orders", "partitions_count": 2, "placements": placements, **looks, **offsets}]
    opened(page, "/#/placement")
    brokers = [{"broker_id": i, "capacity_bytes": 10_000, "used_bytes": used} for i, used in [(1, 5000), (2, 4000), (3, 0)]]
    pasted(page, json.dumps({"snapshot_version": 1, "brokers": brokers, "topics": topics}))
    page.get_by_text("orders: 2 partitions on 2 brokers").wait_for()
    page.locator("summary", has_text="Bytes per second of each topic").click()
    assert page.get_by_label("Written to orders").input_value() == "500, 200"
    page.get_by_role("button", name="broker 1").click()
    page.get_by_role("button", name="broker 1 drains 50% → 29%").wait_for()  # of its disks, with what is not of the topic
    page.get_by_role("button", name="broker 3 new 0% → 21%").wait_for()
    page.locator("summary", has_text="Every broker").click()
    page.get_by_role("cell", name="50% → 29%").wait_for()
    assert page.get_by_role("cell", name="40%").count() == 1
