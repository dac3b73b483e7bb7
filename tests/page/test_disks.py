"""The workbench Disks."""

from __future__ import annotations

import json
import re

from playwright.sync_api import expect

from tests.page.conftest import opened, pasted

TOPICS = [{"topic_name": "t", "placements": [{"partition_id": i, "replicas": [1, 2]} for i in range(3)]}]
LOG_DIRS = """\
Querying brokers for log directories information
Received log directory information from brokers 1
{"version":1,"brokers":[{"broker":1,"logDirs":[\
{"logDir":"/d/a","error":null,"partitions":[{"partition":"t-0","size":60,"offsetLag":0,"isFuture":false},\
{"partition":"t-1","size":40,"offsetLag":0,"isFuture":false},{"partition":"t-2","size":9,"offsetLag":0,"isFuture":true}]},\
{"logDir":"/d/b","error":null,"partitions":[{"partition":"t-2","size":10,"offsetLag":0,"isFuture":false}]},\
{"logDir":"/d/c","error":"KAFKA_STORAGE_ERROR","partitions":[]}]}]}
"""
DESCRIBED = "".join(f"\tTopic: t\tPartition: {i}\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n" for i in range(3))


def disk(name, replicas, **more):
    rows = [{"topic_name": "t", "partition_ids": list(replicas), "partition_bytes": list(replicas.values())}] if replicas else []
    return {"log_dir": name, **more, "replicas": rows}


def test_a_disk_is_emptied_by_pressing_it_and_the_plan_is_the_services(page, service):
    opened(page, "/#/disks")
    pasted(page, LOG_DIRS)
    page.get_by_role("alert").filter(has_text="The placement is not known. Describe the topics as well").wait_for()
    pasted(page, DESCRIBED, "Complete what was read")
    page.get_by_text("3 replicas in 2 log directories of 1 broker").wait_for()
    assert page.get_by_label("Disks at most, % full").input_value() == ""  # sizes are not known
    page.get_by_label("Throttle, MB/s").fill("")
    page.get_by_role("button", name="/d/a").press("Enter")
    disks = [disk("/d/a", {0: 60, 1: 40}, draining=True), disk("/d/b", {2: 10})]
    plan = service.post("/v1/log-dir-plans", json={"brokers": [{"broker_id": 1, "log_dirs": disks}], "topics": TOPICS}).json
    page.locator(".verdict", has_text=re.split(" with |[.]", plan["conclusion"])[0]).wait_for()
    picture = page.get_by_role("group", name="2 · Plan")
    expect(picture.locator("title")).to_have_text(["1 /d/a: 100 B → 0 B", "1 /d/b: 10 B → 110 B"])
    for name in ("reassignment", "rollback"):
        with page.expect_download() as downloaded:
            page.get_by_role("button", name=f"{name}.json", exact=True).click()
        assert json.loads(downloaded.value.path().read_text()) == plan[name]
    page.get_by_role("button", name="Add disk to broker 1").click()
    page.get_by_role("button", name="/data/disk-3").wait_for()
    page.get_by_role("button", name="/data/disk-3").click()  # an empty one goes away again
    page.get_by_role("button", name="/data/disk-3").wait_for(state="detached")


def test_every_field_is_asked(page, service):
    opened(page, "/#/disks")
    for name in ("More about batches", "Topics that move", "Paths and sizes", "Request as JSON"):
        page.locator("summary", has_text=name).click()
    raw = page.get_by_label("Request as JSON")
    expected = json.loads(raw.input_value())
    page.get_by_label("Replicas", exact=True).select_option("even")
    for label, value in {
        "Copies at most": "20",
        "Disks at most, % full": "85",
        "Moves per disk": "2",
        "Only these topics change": "orders",
        "Broker 2 /data/c: size, GB": "2000",
        "Broker 2 /data/c: used now, GB": "300",
    }.items():
        page.get_by_label(label, exact=True).fill(value)
        page.get_by_label(label, exact=True).press("Tab")
    page.get_by_label("Pressing a disk means to").select_option("cordoned")
    page.get_by_role("button", name="/data/a").last.click()
    expected |= {"objective": "even", "max_moves": 20, "disk_threshold": 0.85, "included_topics": ["orders"]}
    expected["limits"]["moves_per_log_dir"] = 2
    expected["brokers"][1]["log_dirs"][2] |= {"capacity_bytes": 2_000_000_000_000, "used_bytes": 300_000_000_000}
    expected["brokers"][1]["log_dirs"][0]["cordoned"] = True
    page.get_by_role("button", name="/data/a cordoned").wait_for()
    assert json.loads(raw.input_value()) == expected
    plan = service.post("/v1/log-dir-plans", json=expected).json
    page.locator(".verdict", has_text=re.split(" with |[.]", plan["conclusion"])[0]).wait_for()
    pasted(
        page,
        json.dumps({"snapshot_version": 1, "brokers": [{"broker_id": 1}], "log_dirs": expected["brokers"], "topics": TOPICS}),
    )
    page.get_by_text("2 topics stay in place").wait_for()
    page.get_by_label("Broker 2 /data/c: size, GB").fill("-1")
    page.get_by_label("Broker 2 /data/c: size, GB").press("Tab")
    page.locator("#f-brokers-1-log_dirs-2-capacity_bytes-fault").wait_for()


def test_a_text_of_another_kind_is_refused_in_a_sentence(page):
    opened(page, "/#/disks")
    pasted(page, "hello")
    page.get_by_role("alert").filter(has_text="line 1: Not the output of").wait_for()
    pasted(page, DESCRIBED)
    page.get_by_role("alert").filter(has_text="What is on each disk and where replicas are is needed").wait_for()
