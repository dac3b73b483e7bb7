"""The workbench History."""

from __future__ import annotations

import gzip
from pathlib import Path

from tests.page.conftest import opened, pasted

RUN = Path(__file__).parents[1] / "vectors" / "histories" / "java-cooperative-rolling"


def entered(page, group):
    field = page.get_by_label("Group id")
    field.fill(group)
    field.press("Enter")


def test_a_real_log_is_pasted_and_its_rebalances_are_the_services(page, service):
    log, records = (gzip.decompress((RUN / f"{name}.gz").read_bytes()).decode() for name in ("broker.log", "records.txt"))
    opened(page, "/#/history")
    pasted(page, log)
    page.get_by_text(f"{log.count(chr(10))} lines in 1 text").wait_for()
    answer = service.post("/v1/group-histories", json={"group_id": "payments", "texts": [log]}).json
    page.locator(".verdict", has_text=answer["conclusion"]).wait_for()  # of the only group
    rows = page.locator("section", has_text="Every rebalance").locator("tbody tr")
    causes = [each["causes"][0]["sentence"] if each["causes"] else "not told" for each in answer["rebalances"]]
    told = rows.locator("td:nth-child(3)").all_inner_texts()
    assert len(told) == len(causes)
    assert all(text.startswith(cause) for text, cause in zip(told, causes, strict=True))
    lanes = page.locator("figure svg").first
    for name in {name for each in answer["rebalances"] for name in each["after"]["members"]}:
        lanes.locator("text.label", has_text=name).wait_for()
    assert lanes.locator(".rebalance").count() == len(causes)
    page.get_by_label("Replay it in other ways").check()
    page.get_by_text("The events cannot be replayed").wait_for()  # the log alone does not tell who reads what
    entered(page, "nix")
    page.locator(".problem", has_text="tells what happened to the group 'nix'").wait_for()
    pasted(page, records, "Complete what was read")
    entered(page, "payments")
    page.get_by_label("Replay it in other ways").check()
    asked = {"group_id": "payments", "texts": [log, records], "otherwise": True}
    ways = service.post("/v1/group-histories", json=asked).json["otherwise"]
    page.get_by_text(ways["conclusion"]).wait_for()
    figure = page.locator("figure", has_text="The same events otherwise")
    assert figure.locator("tbody td:first-child").all_text_contents() == [way["name"] for way in ways["ways"]]
