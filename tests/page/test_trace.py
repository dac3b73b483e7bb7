"""The workbench Trace."""

from __future__ import annotations

from tests.page.conftest import opened, pasted

TOPICS = """\
Topic: orders\tPartitionCount: 2\tReplicationFactor: 2
\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2
\tTopic: orders\tPartition: 1\tLeader: 2\tReplicas: 2,1\tIsr: 2
"""


def test_a_key_is_followed_through_what_is_pasted_and_nothing_of_the_example_is_left(page, service):
    opened(page, "/#/trace")
    pasted(page, TOPICS)
    page.locator("#f-key-fault", has_text="Missing data").wait_for()
    page.get_by_label("Record key").fill("order-1")
    page.get_by_label("Record key").press("Enter")
    answer = service.post("/v1/key-traces", json={"key": "order-1", "texts": [TOPICS]}).json
    page.locator(".verdict", has_text=answer["conclusion"]).wait_for()
    assert page.get_by_label("Topic", exact=True).input_value() == ""
    page.get_by_label("Record key").fill("7")
    page.get_by_label("Record key").press("Enter")
    page.get_by_label("Format of the key").select_option("long")
    field = page.get_by_label("Partitions", exact=True)
    field.fill("5")
    field.press("Enter")
    body = {"key": 7, "key_format": "long", "texts": [TOPICS], "planned_partitions_count": 5}
    answer = service.post("/v1/key-traces", json=body).json
    page.locator(".verdict", has_text=answer["conclusion"]).wait_for()
    for when in ("now", "planned"):
        page.locator("figure svg text", has_text=f"orders-{answer[when]['partition_id']}").first.wait_for()
    field.fill("1")
    field.press("Enter")
    page.locator("#f-planned_partitions_count-fault", has_text="Kafka removes no partitions").wait_for()
    page.get_by_label("Record key").fill("x")
    page.get_by_label("Record key").press("Enter")
    page.locator("#f-key-fault").wait_for()
