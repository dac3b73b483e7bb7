"""The workbench Keys."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from tests.page.conftest import opened

KEYS = ["order-1", "order-2", "order-2", "<i>", "ünï", "order-3"]


def dropped(page, path):
    page.locator("input[type=file]").set_input_files(path)
    page.get_by_text(f"{path.name}, column").wait_for()


@pytest.mark.parametrize("name", ["csv", "snappy", "zstd", "none"])
def test_keys_of_a_file_are_counted_in_the_browser(page, tmp_path, client, name):
    table = pa.table({"amount": range(6), "order_key": KEYS})
    path = tmp_path / f"orders.{name}"
    if name == "csv":
        csv.write_csv(table, path)
    else:
        parquet.write_table(table, path, compression=name)
    opened(page, "/#/keys")
    dropped(page, path)
    page.get_by_text("5 keys, 6 records").wait_for()
    histogram = [{"key": key, "records": KEYS.count(key)} for key in dict.fromkeys(KEYS)]
    body = {"partitions_counts": [24], "current_partitions_count": 12, "max_skew": 1.5, "histogram": histogram}
    answer = client.post("/v1/partition-count-plans", json=body).json
    page.locator(".verdict", has_text=answer["limits"][0]["conclusion"]).wait_for()
    assert page.locator(".answer i").count() == 0


def test_a_file_of_another_kind_is_refused_in_a_sentence(page, tmp_path):
    opened(page, "/#/keys")
    for content, sentence in [
        (b"\x89PNG\r\n\x00\x00", "is neither Parquet nor text"),
        (b"", "is empty"),
        (b'"a\n', "a quote that"),
    ]:
        path = tmp_path / "file.csv"
        path.write_bytes(content)
        page.locator("input[type=file]").set_input_files(path)
        page.get_by_role("alert").filter(has_text=sentence).wait_for()


def test_pasted_pairs_are_told_who_wrote_them(page, client):
    opened(page, "/#/keys")
    page.get_by_text("Who wrote this topic?").click()
    keys = [f"k{i}" for i in range(40)]
    placed = client.post("/v1/partitions", json={"partitioner": "sarama", "partitions_count": 9, "keys": keys}).json["partitions"]
    lines = "\n".join(f"{key}, {partition}" for key, partition in zip(keys, placed, strict=True))
    page.get_by_label("Keys and the partitions that they are on").fill(lines)
    page.get_by_label("Partitions of the topic").fill("9")
    page.get_by_label("Partitions of the topic").press("Tab")
    page.locator("section", has_text="Who wrote this topic?").get_by_text("sarama").last.wait_for()


MOVES = """async () => {
    const slider = document.querySelector('input[type=range]');
    const times = [];
    for (let move = 0; move < 100; move++) {
        const started = performance.now();
        const count = 1 + ((move * 37) % 1000);
        slider.value = count;
        slider.dispatchEvent(new Event('input', { bubbles: true }));
        const shown = `of ${count.toLocaleString('en')} partitions`;
        while (!document.querySelector('figure > .soft').textContent.includes(shown)) {
            await new Promise((go) => requestAnimationFrame(go));
        }
        times.push(performance.now() - started);
    }
    return times.sort((a, b) => a - b)[94];
}"""


def test_the_slider_answers_while_it_moves(page, tmp_path):
    path = tmp_path / "keys.csv"
    path.write_text("key\n" + "".join(f"customer-{i}\n" for i in range(10_000)))
    opened(page, "/#/keys")
    dropped(page, path)
    page.get_by_text("10,000 keys, 10,000 records").wait_for()
    p95 = page.evaluate(MOVES)
    assert p95 < 1000  # 100 ms on an idle machine


def test_a_million_keys_go_up_as_arrow(page, tmp_path):
    path = tmp_path / "keys.parquet"
    parquet.write_table(pa.table({"key": [f"customer-{i}" for i in range(1_000_000)]}), path)
    opened(page, "/#/keys")
    with page.expect_request(lambda request: "arrow" in request.headers.get("content-type", ""), timeout=60_000) as sent:
        page.locator("input[type=file]").set_input_files(path)
    assert "partitions_counts=24" in sent.value.url
    page.get_by_text("1,000,000 keys, 1,000,000 records").wait_for()
    page.locator(".verdict", has_text="24 partitions").wait_for()
