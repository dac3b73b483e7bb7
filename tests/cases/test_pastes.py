"""Texts as they are passed on: prefixes, further columns, old tables, JSON through jq, cut files."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.descriptions import UnreadableDescription, read_description
from tests.cases.test_groups import CASES, case, run

TOPICS = case("a-prefix-on-each-line/topics.txt")
PREFIXES = (
    *("2026-03-03T19:31:50.804649354Z ", "[2026-03-03 19:31:50,804] INFO ", "[pod/kafka-0/kafka] ", "kafka-1  | "),
    *("host-7: ", "> ", "> > ", "    ", "\u00a0\u00a0", "+ ", "| "),
)


def text(path: str) -> str:
    return (CASES / path).read_text(encoding="utf-8")


def placed(description) -> list[list[int]]:
    return [placement["replicas"] for topic in description.topics for placement in topic.get("placements", ())]


PLAIN = read_description(text("a-prefix-on-each-line/topics.txt"))


@pytest.mark.parametrize("name", ["indent", "nbsp", "pssh", "quote", "yaml"])
def test_a_prefix_on_each_line_is_dropped(name):
    described = read_description(text(f"a-prefix-on-each-line/{name}.txt"))
    assert described.topics == PLAIN.topics


@pytest.mark.parametrize("name", ["compose", "pod"])
def test_a_group_with_a_prefix_on_each_line(name):
    (group,) = read_description(text(f"a-prefix-on-each-line/{name}.txt")).groups
    assert (group["group_id"], len(group["members"])) == ("sorters", 2)


@given(prefix=st.sampled_from(PREFIXES), prose=st.sampled_from(["", "Here is what I see:\n", "$ kafka-topics --describe\n"]))
def test_any_prefix_is_dropped(prefix, prose):
    lines = text("a-prefix-on-each-line/topics.txt").splitlines()
    assert read_description(prose + "\n".join(prefix + line for line in lines)).topics == PLAIN.topics


@pytest.mark.parametrize("numbered", ["{:6}\t{}", "{}:{}", "{:>3}  {}"])
def test_numbers_of_lines_are_no_brokers(numbered):
    lines = text("a-prefix-on-each-line/topics.txt").splitlines()
    described = read_description("\n".join(numbered.format(i, line) for i, line in enumerate(lines, 1)))
    assert described.topics == PLAIN.topics
    assert all("rack_id" not in broker for broker in described.brokers)


@pytest.mark.parametrize("lines", ["1\t10.20.0.4\n2\t10.20.0.5", "0;1200\n1;1300", "0: parcels\n1: letters", "1,a b\n2,c d"])
def test_what_is_no_table_of_racks_is_refused(lines):
    with pytest.raises(UnreadableDescription):
        read_description(lines)
    assert read_description(f"broker,rack\n{lines.replace(': ', ',').replace(chr(9), ',').replace(';', ',')}").brokers


def test_further_columns_do_not_make_a_line_unreadable():
    for name in ("offline", "marked"):
        assert placed(read_description(text(f"describe-with-more-columns/{name}.txt")))


def test_tables_before_kafka_2():
    (group,) = read_description(text("group-tables-before-2.0/offsets-1.1.txt")).groups
    owned = {m["member_id"].split("-")[1]: [p["partition_ids"] for p in m["owned_partitions"]] for m in group["members"]}
    assert owned == {"1": [[0]], "2": [[1, 2]], "3": []}
    rebalancing = read_description(text("group-tables-before-2.0/rebalancing-0.11.txt"))
    assert [len(group["members"]) for group in rebalancing.groups] == [1]
    header = "GROUP, TOPIC, PARTITION, CURRENT OFFSET, LOG END OFFSET, LAG, OWNER\n"
    old = f"{header}g, t, 0, 5, 7, 2, c-1_/10.0.0.1\ng, t, 1, 5, 7, 2, none\n"
    (group,) = read_description(old).groups
    assert [member["member_id"] for member in group["members"]] == ["c-1_/10.0.0.1"]


def test_rows_without_their_header():
    line = "billing orders 0 5 7 2 c-1 /10.0.0.1 app\nbilling orders 1 5 9 4 c-2 /10.0.0.2 app\n"
    (group,) = read_description(line).groups
    assert [member["member_id"] for member in group["members"]] == ["c-1", "c-2"]


def test_names_that_were_changed():
    (group,) = read_description(text("names-changed-in-a-table/members.txt")).groups
    owned = {m["member_id"][:3]: [(p["topic_name"], p["partition_ids"]) for p in m["owned_partitions"]] for m in group["members"]}
    assert owned == {"s-1": [("boxes", [0]), ("letters", [0])], "s-2": [("letters", [1, 2])], "s-3": []}


def test_json_through_jq():
    described = read_description(text("json-through-jq/log-dirs.json"))
    assert described.log_dirs
    rows = [{"topic": "t", "partition": i, "replicas": [1, 2]} for i in range(3)]
    for passed_on in (json.dumps(rows), json.dumps(rows, indent=2), "\n".join(map(json.dumps, rows))):
        assert placed(read_description(passed_on)) == [[1, 2]] * 3
    rest = {"topicName": "t", "partitions": [{"id": 0, "replicas": [0, 1]}, {"id": 1, "replicas": [1, 0]}]}
    assert placed(read_description(json.dumps(rest))) == [[0, 1], [1, 0]]
    wrapped = re.sub("(.{60})", r"\1\n", json.dumps({"version": 1, "partitions": rows * 1}))
    assert placed(read_description(wrapped)) == [[1, 2]] * 3


def test_a_file_that_was_cut_off_is_one_sentence():
    ended = run("assign", case("cut-snapshot-lines/cut.jsonl"), "--group", "g")
    assert (ended.exit_code, "line 5: Malformed JSON" in ended.stderr) == (2, True)
    assert run("assign", case("cut-snapshot-lines/handwritten.json"), "--group", "g").exit_code == 0


@pytest.mark.parametrize("document", ['{"a": 1}', "[1, 2]", '[{"a": 1}]', '{"hello": {"world": []}}'])
def test_json_of_another_shape_is_called_that(document, tmp_path):
    (tmp_path / "x.json").write_text(document)
    ended = run("assign", str(tmp_path / "x.json"))
    assert ended.exit_code == 2
    assert "JSON that is not a description of a cluster" in ended.stderr


def test_what_was_read_is_told():
    ended = run("reassign", TOPICS, "--drain", "3", "--output", "json")
    assert "Read 1 topic (3 partitions) on 3 brokers. Racks are not known." in ended.stderr
