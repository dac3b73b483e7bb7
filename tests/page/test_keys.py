"""The workbench Keys."""

from __future__ import annotations

import json
from base64 import b64encode

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, feather, parquet

from tests.page.conftest import SHOWN, MainThread, opened
from tests.page.conftest import dropped as dropped_on

KEYS = ["order-1", "order-2", "order-2", "<i>", "ünï", "order-3"]


def dropped(page, path):
    page.locator("input[type=file]").set_input_files(path)
    page.get_by_text(f"{path.name}, column").wait_for()


def test_keys_of_a_file_are_counted_in_the_browser(page, tmp_path, service):
    table = pa.table({"amount": range(6), "order_key": KEYS})
    histogram = [{"key": key, "records": KEYS.count(key)} for key in dict.fromkeys(KEYS)]
    opened(page, "/#/keys")
    for name in ("csv", "snappy", "gzip", "zstd", "lz4", "none", "arrow"):
        path = tmp_path / f"orders.{name}"
        if name == "csv":
            csv.write_csv(table, path)
        elif name == "arrow":
            feather.write_feather(table, path, compression="zstd")
        else:
            parquet.write_table(table, path, compression=name)
        with page.expect_request(PLANS) as asked:
            dropped(page, path)
        assert asked.value.post_data_json["histogram"] == histogram, name
        page.get_by_text(f"{path.name}, column order_key: 5 keys, 6 records").wait_for()
    body = {"partitions_counts": [24], "histogram": histogram}  # no limit of the example outlives it
    choices = page.get_by_label("Partitioner", exact=True).locator("option")
    partitioners = {"java", "sarama", "sarama:round-robin", "cassandra:murmur3"} & {*choices.all_text_contents()}
    assert partitioners == {"java", "sarama"}  # the others do not place keys on partitions
    answer = service.post("/v1/partition-count-plans", json=body).json
    page.locator(".verdict", has_text=answer["limits"][0]["conclusion"]).wait_for()
    assert page.locator(".answer i").count() == 0


PLANS = "**/v1/partition-count-plans*"
KEPT_STREAMS = """() => {
    if (window.streams) return window.streams.splice(0).length; // by the test before
    window.streams = [];
    const fetched = window.fetch;
    window.fetch = (path, request) => {
        if (request?.body instanceof Blob) streams.push([path, request.body]);
        return fetched(path, request);
    };
}"""
STREAM = """async ([i, query]) => {
    const asked = () => streams.slice(i).find(([path]) => path.includes(query));
    while (!asked()) await new Promise((go) => setTimeout(go, 20));
    const bytes = new Uint8Array(await asked()[1].arrayBuffer());
    return Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
}"""


def sent(page, i, query=""):
    """The table of the first Arrow stream from the i-th since ``KEPT_STREAMS`` whose address has ``query``."""
    return pa.ipc.open_stream(page.evaluate(STREAM, [i, query]).encode("latin-1")).read_all()


LONGS = [7, 2**53 + 1, -(2**60)]
BINARY = [b"\xff\x00", b"order-1", b"\xef\xbb\xbf"]
COLUMNS = [
    (pa.array([*LONGS, None], pa.int64()), "long", LONGS),
    (pa.array([3, -2, 3], pa.int16()), "short", [3, -2]),
    (pa.array([0.1, -0.0, 2.5], pa.float64()), "double", [0.1, -0.0, 2.5]),
    (pa.array(BINARY, pa.binary()), "base64", [b64encode(key).decode() for key in BINARY]),
    (pa.array([b"a", b"\xef\xbb\xbfb"], pa.binary()), "string", ["a", "\ufeffb"]),
    (pa.array([7, 9, 7], pa.int32()).dictionary_encode(), "int", [7, 9]),
]


def test_a_column_of_another_type_has_its_key_format(page, tmp_path):
    opened(page, "/#/keys").evaluate(KEPT_STREAMS)
    for column, key_format, keys in COLUMNS:
        path = tmp_path / f"{len(keys)}-{key_format}.keys"
        if pa.types.is_dictionary(column.type):
            with pa.ipc.new_stream(path, pa.schema({"key": column.type})) as stream:
                stream.write_table(pa.table({"key": column}))
        else:
            parquet.write_table(pa.table({"key": column}), path)
        before = page.evaluate("streams.length")
        with page.expect_request(PLANS) as asked:
            dropped(page, path)
        assert page.get_by_label("Format of the keys").input_value() == key_format
        if "arrow" in asked.value.headers["content-type"]:  # what JSON does not hold exactly
            table = sent(page, before)
            assert table.schema.field("key").type == column.type
            assert repr(table["key"].drop_null().to_pylist()) == repr(keys)
            assert table["key"].null_count == column.null_count
        else:
            body = asked.value.post_data_json
            assert body.get("key_format", "string") == key_format
            assert [row["key"] for row in body["histogram"]] == keys
        page.wait_for_function("() => document.querySelector('.answer[aria-busy=true]') === null")
        if key_format == "long":
            hottest = page.locator("section", has_text="The hottest keys").locator("tbody td:first-child")
            hottest.get_by_text(str(2**53 + 1)).or_(hottest.get_by_text(f"{2**53 + 1:,}")).wait_for()


def test_keys_of_the_wrong_format_are_named_beside_its_field(page):
    opened(page, "/#/keys")
    field = page.get_by_label("One key per line, with its records after a tab")
    field.fill("1\t5000000000\n2\nthree\n")
    field.press("Tab")
    page.get_by_text("pasted keys: 3 keys, 5,000,000,002 records").wait_for()
    page.get_by_label("Format of the keys").select_option("long")
    page.locator(".fault", has_text='"three" is not a valid long').wait_for()
    page.get_by_label("Format of the keys").select_option("uuid")
    page.locator("#f-key_format-fault", has_text="Not a valid UUID").wait_for()
    with page.expect_request(PLANS) as asked:
        page.get_by_label("Format of the keys").select_option("string")
    assert asked.value.post_data_json["histogram"][0] == {"key": "1", "records": 5_000_000_000}
    field.fill("1\t9007199254740993\n")
    field.press("Tab")
    page.get_by_role("alert").filter(has_text="more than 2^53 records").wait_for()


def test_a_large_text_is_pasted_beside_the_page(page):
    """With records above 32 bits; its keys become numbers there, too, and one that is none is named."""
    opened(page, "/#/keys").evaluate(KEPT_STREAMS)
    field = page.get_by_label("One key per line, with its records after a tab")
    thread = MainThread(page)
    field.evaluate("""(field) => {
        const clipboardData = new DataTransfer();
        clipboardData.setData('text/plain', Array.from({ length: 100000 }, (_, i) => `${i}\t${2 ** 32 + i}`).join('\\n'));
        const paste = new ClipboardEvent('paste', { bubbles: true, cancelable: true, clipboardData });
        if (field.dispatchEvent(paste)) throw new Error('the browser would show all of it');
    }""")
    page.get_by_text("pasted keys: 100,000 keys").wait_for()
    assert thread.seconds() < 0.5  # 0.16 s
    table = sent(page, 0)
    assert table["records"].to_pylist() == [2**32 + i for i in range(100_000)]
    page.locator(".verdict", has_text="24 partitions").wait_for()
    before = page.evaluate("streams.length")
    page.get_by_label("Format of the keys").select_option("int")
    table = sent(page, before, "key_format=int")
    assert table.schema.field("key").type == pa.int32()
    assert table["key"].to_pylist() == list(range(100_000))
    page.get_by_label("Format of the keys").select_option("short")
    page.locator(".fault", has_text='"32768" is not a valid short').wait_for()


def test_a_file_of_another_kind_is_refused_in_a_sentence(page, tmp_path):
    opened(page, "/#/keys")
    for content, sentence in [
        (b"\x89PNG\r\n\x00\x00", "is neither Parquet nor Arrow nor text"),
        (b"", "is empty"),
        (b"ARROW1\x00\x00", "cannot be read"),
        (b'"a\n', "a quote that"),
    ]:
        path = tmp_path / "file.csv"
        path.write_bytes(content)
        page.locator("input[type=file]").set_input_files(path)
        page.get_by_role("alert").filter(has_text=sentence).wait_for()


def test_a_summary_of_the_pipeline_is_taken_with_its_kind_of_keys(page, service):
    opened(page, "/#/keys")
    histogram = [{"key": i * i, "records": 900 // (i + 1)} for i in range(600)]  # more than a link holds
    request = {
        "partitioners": ["java"],
        "partitions_counts": [6],
        "key_format": "long",
        "is_sample": True,
        "histogram": histogram,
    }
    dropped_on(page, "summary of pipeline skew", {"partition-count-plans.json": json.dumps(request).encode()})
    page.get_by_text("partition-count-plans.json, a sample: 600 keys").wait_for()
    plan = service.post("/v1/partition-count-plans", json=request | {"partitions_counts": [24]}).json
    page.locator(".verdict", has_text=plan["limits"][0]["conclusion"]).wait_for()
    table = page.locator("figure", has_text="Records per partition").locator("tbody tr td:nth-child(2)")
    assert [text.replace(",", "") for text in table.all_text_contents()] == [
        str(n) for n in plan["plans"][0]["records"]["counts"]
    ]


OTHERS = [
    (b'{"job": "skew", "plans": []}', "Open partition-count-plans.json of the same folder"),
    (b'{"job": ', "is not JSON"),
    (b'{"topics": []}', "has no histogram"),
    (b'{"histogram": [{"key": "a"}, {"records": 2}]}', "/histogram/1 has no key"),
]


def test_another_json_is_refused_in_a_sentence(page):
    opened(page, "/#/keys")
    for content, sentence in OTHERS:
        dropped_on(page, "summary of pipeline skew", {"summary.json": content})
        page.get_by_role("alert").filter(has_text=sentence).wait_for()


def test_a_throughput_and_pasted_pairs_say_how_many_partitions_and_who_wrote_them(page, service):
    opened(page, "/#/keys")
    page.get_by_text("Who wrote this topic?").click()
    keys = [f"k{i}" for i in range(40)]
    placed = service.post("/v1/partitions", json={"partitioner": "sarama", "partitions_count": 9, "keys": keys}).json[
        "partitions"
    ]
    lines = "\n".join(f"{key}, {partition}" for key, partition in zip(keys, placed, strict=True))
    page.get_by_label("Keys and the partitions that they are on").fill(lines)
    page.get_by_label("Partitions of the topic").fill("9")
    page.get_by_label("Partitions of the topic").press("Tab")
    page.locator("section", has_text="Who wrote this topic?").get_by_text("sarama").last.wait_for()
    page.locator("summary", has_text="does a throughput need").click()
    rates = {"Whole topic": 300, "Written to a partition": 10, "Read by a consumer": 8}
    for label, rate in rates.items():
        page.get_by_label(label, exact=True).fill(str(rate))
        page.get_by_label(label, exact=True).press("Tab")
    names = ("target_mb_per_second", "producer_mb_per_second", "consumer_mb_per_second")
    body = dict(zip(names, rates.values(), strict=True))
    needed = service.post("/v1/partition-count-plans", json=body).json["throughput"]["partitions_count"]
    page.locator(".figures > div", has_text="Throughput needs").locator("dd.bad", has_text=str(needed)).wait_for()


MOVES = """async () => {
    const slider = document.querySelector('input[type=range]');
    for (let move = 0; move < 10; move++) {
        const count = 1 + ((move * 37) % 1000);
        slider.value = count;
        slider.dispatchEvent(new Event('input', { bubbles: true }));
        const shown = `of ${count.toLocaleString('en')} partitions`;
        while (!document.querySelector('figure > .soft').textContent.includes(shown)) {
            await new Promise((go) => requestAnimationFrame(go));
        }
    }
}"""


def test_the_slider_answers_while_it_moves(page, server, tmp_path):
    path = tmp_path / "keys.csv"
    path.write_text("key\n" + "".join(f"customer-{i}\n" for i in range(10_000)))
    opened(page, "/#/keys")
    dropped(page, path)
    page.get_by_text("10,000 keys, 10,000 records").wait_for()
    thread, served = MainThread(page), server.processor_seconds()
    page.evaluate(MOVES)
    assert thread.seconds() / 10 < 0.1  # 0.01 s for a move, which an idle machine answers within 0.04 s
    assert (server.processor_seconds() - served) / 10 < 0.1  # 0.01 s


def test_many_keys_are_read_beside_the_page_and_go_up_as_arrow(page, tmp_path):
    path = tmp_path / "keys.parquet"
    numbers = pa.array(np.arange(400_000)).cast(pa.string())
    parquet.write_table(pa.table({"key": pc.binary_join_element_wise("customer", numbers, "-")}), path)
    opened(page, "/#/keys")
    page.locator("body").evaluate(SHOWN, "Cancel")
    page.evaluate("() => { shown.then((button) => button.click()); }")
    page.locator("input[type=file]").set_input_files(path)
    page.evaluate("shown.then(() => {})")
    page.get_by_text("Reading…").wait_for(state="detached")
    assert page.get_by_text("an example: 400 customers").is_visible()
    thread = MainThread(page)
    with page.expect_request(lambda request: "arrow" in request.headers.get("content-type", "")) as asked:
        page.locator("input[type=file]").set_input_files(path)
    assert "partitions_counts=24" in asked.value.url
    page.get_by_text("400,000 keys, 400,000 records").wait_for()
    page.locator(".verdict", has_text="24 partitions").wait_for()
    assert thread.seconds() < 0.5  # 0.13 s; reading them there takes 0.9 s


def test_a_codec_that_is_not_read_is_named(page, tmp_path):
    path = tmp_path / "keys.parquet"
    parquet.write_table(pa.table({"key": ["a"]}), path, compression="brotli")
    opened(page, "/#/keys")
    page.locator("input[type=file]").set_input_files(path)
    page.get_by_role("alert").filter(has_text="compressed with BROTLI, which this page cannot read").wait_for()


def test_the_skew_is_shown_against_the_number_of_partitions(page, service):
    opened(page, "/#/keys")
    figure = page.locator("figure", has_text="Skew against the number of partitions")
    figure.locator("summary").click()
    shown = [row.locator("td").all_inner_texts() for row in figure.locator("tbody tr").all()]
    page.locator("summary", has_text="Request as JSON").click()
    body = json.loads(page.get_by_label("Request as JSON").input_value()) | {"partitions_counts": [int(row[0]) for row in shown]}
    plans = service.post("/v1/partition-count-plans", json=body).json["plans"]
    assert [(int(row[0]), float(row[1])) for row in shown] == [
        (plan["partitions_count"], round(plan["records"]["skew"], 2)) for plan in plans
    ]
    assert {12, 24} < {plan["partitions_count"] for plan in plans}
    figure.locator("svg").get_by_text("limit: 1.50").wait_for()


DISTANCE = "([one, other]) => other.getBoundingClientRect().top - one.getBoundingClientRect().top"


def test_what_is_compared_stays_while_the_slider_moves(page):
    opened(page, "/#/keys")
    figures = page.locator("h3", has_text="Records per partition").or_(page.locator("h3", has_text="The hottest keys"))
    before = figures.evaluate_all(DISTANCE)
    slider = page.get_by_role("slider", name="Number of partitions")
    slider.evaluate("(slider) => { slider.value = 25; slider.dispatchEvent(new Event('input', { bubbles: true })); }")
    page.locator(".verdict", has_text="25 partitions").wait_for()
    page.locator(".stale", has_text="The same keys with other partitioners").wait_for()
    assert figures.evaluate_all(DISTANCE) == before
    slider.dispatch_event("change")
    page.locator(".stale").wait_for(state="detached")
