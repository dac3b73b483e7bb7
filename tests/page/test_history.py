"""The workbench History."""

from __future__ import annotations

import gzip
from pathlib import Path

from tests.page.conftest import opened, pasted

RUN = Path(__file__).parents[1] / "vectors" / "histories" / "java-cooperative-rolling"


def test_a_real_log_is_pasted_and_its_rebalances_are_the_services(page, service):
    log = gzip.decompress((RUN / "broker.log.gz").read_bytes()).decode()
    opened(page, "/#/history")
    pasted(page, log)
    page.get_by_text(f"{log.count(chr(10))} lines in 1 text").wait_for()
    answer = service.post("/v1/group-histories", json={"group_id": "payments", "texts": [log]}).json
    field = page.get_by_label("Group id")
    field.fill("payments")
    field.press("Enter")
    page.locator(".verdict", has_text=answer["conclusion"]).wait_for()
    rows = page.locator("section", has_text="Every rebalance").locator("tbody tr")
    causes = [each["causes"][0]["sentence"] if each["causes"] else "not told" for each in answer["rebalances"]]
    told = rows.locator("td:nth-child(3)").all_inner_texts()
    assert len(told) == len(causes)
    assert all(text.startswith(cause) for text, cause in zip(told, causes, strict=True))
    lanes = page.locator("figure svg").first
    for name in {name for each in answer["rebalances"] for name in each["after"]["members"]}:
        lanes.locator("text.label", has_text=name).wait_for()
    assert lanes.locator(".rebalance").count() == len(causes)
    field.fill("nix")
    field.press("Enter")
    page.locator(".problem", has_text="tells what happened to the group 'nix'").wait_for()
