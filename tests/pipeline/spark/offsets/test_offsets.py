"""``offsets``: what the records of ``__consumer_offsets`` come to."""

from __future__ import annotations

import base64
import json
import random
import subprocess
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from service.core.coordinators import of_group
from service.pipeline.analyses.fleet.assignments import assign_groups
from service.pipeline.spark import offsets as job
from service.pipeline.spark.errors import WrongSource
from service.pipeline.spark.io.columns import milliseconds
from service.pipeline.spark.io.reading import read
from service.pipeline.spark.io.sources import Source
from service.pipeline.spark.jobs import RETENTION_MINUTES
from service.pipeline.spark.tasks import coordinator_records as offset_records
from service.pipeline.spark.tasks import group_requests
from service.report.folders import REJECTED_ROWS
from service.wire.coordinator_records import read_group_record
from service.wire.errors import Unreadable
from tests.reference.committed_offsets import committed_offsets
from tests.support.captures import captures
from tests.support.parity import command, coordinator_jars
from tests.support.wire_encoding import (
    blob,
    classic_key,
    classic_value,
    commit_key,
    commit_value,
    consumer_group,
    regular_expression,
    share_group,
    streams_group,
)

DAY = 24 * 60 * 60 * 1000
START = 1_700_000_000_000
TOPIC_ID = "rF37m2aYBi9oD5W9cXt1Fg"


def table(log):
    """Records as the Kafka source gives them. log : key, value, timestamp."""
    keys, values, times = zip(*log, strict=True)
    group = [0 if key is None else of_group(key.decode(errors="replace")).partition_id for key in keys]
    columns = {
        "key": pa.array(keys, pa.binary()),
        "value": pa.array(values, pa.binary()),
        "partition": pa.array(group, pa.int32()),
    }
    return pa.table(
        {**columns, "offset": pa.array(range(len(log)), pa.int64()), "timestamp": pa.array(times, pa.timestamp("ms", "UTC"))}
    )


def run(pipeline, tmp_path, log, *names, **options):
    """The job's outcome, and some of its tables as rows, by name."""
    pq.write_table(table(log) if isinstance(log, list) else log, tmp_path / "records.parquet")
    given = {
        "log_end": None,
        "as_of": None,
        "retention_minutes": RETENTION_MINUTES,
        "weight": "lag",
        "group": None,
        **options,
    }
    outcome = job.run(pipeline, records=Source.parse(str(tmp_path / "records.parquet")), **given)
    return outcome, {name: rows_of(outcome.tables[name]) for name in names}


def rows_of(found):
    return (pq.read_table(found) if isinstance(found, str) else found.toArrow()).to_pylist()


def random_log(seed, start, records=1500):
    """A fortnight of a cluster: groups that come and go, commits that expire by themselves, tombstones."""
    chance, time = random.Random(seed), start
    for _ in range(records):
        time += chance.randrange(2 * 14 * DAY // records)
        group, topic = f"g{chance.randrange(12)}", f"t{chance.randrange(4)}"
        match chance.randrange(10):
            case 0:
                members = {f"m{i}": {f"t{chance.randrange(4)}": [i]} for i in range(chance.randrange(3))}
                yield classic_key(group), chance.choice((None, classic_value(members, time), classic_value(members, time))), time
            case 1:
                yield commit_key(group, topic, chance.randrange(3)), None, time
            case 2:
                expires = time + chance.randrange(3 * DAY)
                yield commit_key(group, topic, chance.randrange(3)), commit_value(chance.randrange(1000), time, expires), time
            case _:
                yield commit_key(group, topic, chance.randrange(3)), commit_value(chance.randrange(1000), time), time


def test_every_record_is_read_or_set_aside_with_the_reason():
    records = [(capture.key, capture.value, 0) for capture in captures() if capture.kind == "group_record"] + [(None, b"", 0)]
    given = table(records).rename_columns(["key", "value", "log_partition", "log_offset", "timestamp"])
    given = given.set_column(4, "timestamp", given.column(4).cast(pa.int64()))
    for name in ("fault", "line"):
        given = given.append_column(name, pa.nulls(len(given), pa.string()))
    read = pa.Table.from_batches(offset_records.read_records(given.to_batches(100)))
    assert sorted(read.column("log_offset").to_pylist()) == list(range(len(records)))
    for row in read.to_pylist():
        key, value, _ = records[row["log_offset"]]
        if row["reason"] is not None:
            with pytest.raises((Unreadable, TypeError)):
                read_group_record(key, value)
            assert json.loads(row["record"])["key_base64"] == (None if key is None else base64.b64encode(key).decode())
            continue
        record = read_group_record(key, value)
        assert (row["type"], row["tombstone"]) == (max(record.type, 1), value is None)
        assert row["group"] == record.key.get("group", record.key.get("groupId"))
        if record.type > 1 and value is not None:
            assert json.loads(row["value"]) == record.value


def state_of(*records):
    rows = [read_group_record(key, value) for key, value in records]
    latest = [
        {"at": 5, "group": "g", "type": row.type, "member": row.key.get("memberId"), "value": json.dumps(row.value)}
        for row in rows
    ]
    return group_requests.read_group(pa.Table.from_pylist(latest)).to_pylist()


def test_a_consumer_group_is_put_together_from_the_records_of_its_members():
    head, *rows = state_of(*consumer_group("g", {"a": (["t"], {TOPIC_ID: [0, 2]}), "b": (["u", "t"], {})}))
    assert (head["protocol"], head["empty"], head["subscribed"]) == ("consumer", False, ["t", "u"])
    assert json.loads(head["members"])[0] == {"member_id": "a", "topic_names": ["t"], "generation_id": 7}
    known = [(row["member_id"], row["partition"]) for row in rows]
    assert known == [("a", None), ("a", 0), ("a", 2), ("b", None)]


def test_subscriptions_that_cannot_be_decoded_are_unknown():
    head, *rows = state_of((classic_key("g"), with_subscription(b"\x00\x01")))
    assert head["subscribed"] is None
    assert [(row["member_id"], row["partition"]) for row in rows] == [("a", None), ("a", 0)]


SUBSCRIPTION_TO_T = b"\x00\x01\x00\x00\x00\x01\x00\x01t\xff\xff\xff\xff\x00\x00\x00\x00"


def with_subscription(data):
    """A group of one member, whose subscription has these bytes."""
    return classic_value({"a": {"t": [0]}}, START).replace(blob(SUBSCRIPTION_TO_T), blob(data))


GROUPS = {
    "only commits": [],
    "no protocol type": [(classic_key, classic_value({}, START, protocol_type=""))],
    "stable": [(classic_key, classic_value({"a": {"t": [0]}}, START))],
    "empty": [(classic_key, classic_value({}, START + 5))],
    "empty since nobody knows when": [(classic_key, classic_value({}, -1))],
    "unreadable": [(classic_key, with_subscription(SUBSCRIPTION_TO_T[:2]))],
    "of no version": [(classic_key, with_subscription(b"\xff\xff" + SUBSCRIPTION_TO_T[2:]))],
    "cut off": [(classic_key, with_subscription(SUBSCRIPTION_TO_T[:-4]))],
    "connect": [(classic_key, classic_value({"a": {"t": [0]}}, START, protocol_type="connect"))],
    "connect, empty": [(classic_key, classic_value({}, START + 5, protocol_type="connect"))],
    "consumer": partial(consumer_group, members={"a": (["t"], {}), "b": (["u"], {})}),
    "consumer, empty": partial(consumer_group, members={}),
    "consumer, expression": lambda group: [*consumer_group(group, {"a": ([], {})}), regular_expression(group, "t.*", ["t"])],
    "share": partial(share_group, members={"a": ["t"]}),
    "share, empty": partial(share_group, members={}),
    "streams": partial(streams_group, members=["a"], sources=["t"], repartitions=["u"]),
    "streams, empty": partial(streams_group, members=[], sources=["t"], repartitions=["u"]),
    "streams, no topology": lambda group: streams_group(group, ["a"], ["t"], [])[::2],
}
"""What a group of that name may be, each by the records that say so."""


def records_of(group):
    known = GROUPS[group]
    return known(group) if callable(known) else [(key(group), value) for key, value in known]


@pytest.mark.parametrize(
    ("group", "keeps", "empty_since", "subscribed"),
    [
        ("no protocol type", False, None, None),
        ("stable", False, None, ["t"]),
        ("empty", False, START + 5, []),
        ("empty since nobody knows when", False, None, []),
        ("unreadable", True, None, None),
        ("of no version", False, None, ["t"]),
        ("cut off", False, None, ["t"]),
        ("connect", True, None, None),
        ("connect, empty", False, START + 5, None),
        ("consumer", False, None, ["t", "u"]),
        ("consumer, empty", False, None, []),
        ("consumer, expression", False, None, ["t"]),
        ("share", True, None, ["t"]),
        ("share, empty", True, None, []),
        ("streams", False, None, ["t", "u"]),
        ("streams, empty", False, None, []),
        ("streams, no topology", False, None, []),
    ],
)
def test_what_expires_depends_on_the_protocol_and_on_who_is_there(group, keeps, empty_since, subscribed):
    head = state_of(*records_of(group))[0]
    assert (head["keeps_offsets"], head["empty_since"], head["subscribed"]) == (keeps, empty_since, subscribed)


@pytest.mark.slow
def test_what_is_committed_and_expired_is_what_a_coordinator_would_have_after_replaying_the_log(pipeline, tmp_path):
    """Groups of every protocol beside a log at random, the last records of which are later than ``as_of``.

    The former have committed long ago and lately, to topics that they read and others; some name their expiry. What of
    theirs has expired is what Kafka's own coordinator cleans up.
    """
    chance, retention, now = random.Random(7), 3 * DAY, START + 14 * DAY
    of_protocols = [(*record, START) for group in GROUPS for record in records_of(group)]
    for group in GROUPS:
        for topic in "tuv":
            for partition in range(4):
                time = START + chance.choice((0, 5, 10 * DAY, 11 * DAY - 1, 11 * DAY, 11 * DAY + 1, 13 * DAY))
                expires = chance.choice((-1, -1, -1, now - 1, now, now + 1))
                of_protocols.append((commit_key(group, topic, partition), commit_value(9, time, expires), START))
    at_random = list(random_log(1, START + now - list(random_log(1, START))[-200][2]))
    log = of_protocols + at_random
    outcome, tables = run(pipeline, tmp_path, log, job.OFFSETS, as_of=now, retention_minutes=retention // 60_000)
    rows = {(row["group"], row["topic"], row["partition"]): row for row in tables[job.OFFSETS]}
    expired = {place for place, row in rows.items() if row["expired"]}
    expected = cleaned_up(of_protocols, now, retention)
    assert {place for place in expired if place[0] in GROUPS} == expected
    assert {group for group, _, _ in expected} == set(GROUPS) - {"unreadable", "connect", "share", "share, empty"}

    replayed = committed_offsets(at_random, now, retention)
    committed = {place: row for place, row in rows.items() if place[0] not in GROUPS and row["committed_offset"] is not None}
    assert {place: (row["committed_offset"], row["expired"]) for place, row in committed.items()} == replayed
    assert 10 < sum(of_one for _, of_one in replayed.values()) < len(replayed) - 10
    assert outcome.summary["records"]["records"] == len(log)
    assert outcome.summary["partitions"]["expired"] == len(expired)


def cleaned_up(log, now, retention_ms):
    """What Kafka's GroupCoordinatorShard removes, having replayed the log."""
    texts = [",".join("null" if part is None else base64.b64encode(part).decode() for part in record[:2]) for record in log]
    metrics = ("com.yammer.metrics:metrics-core:2.2.0", "com.google.re2j:re2j:1.8")
    cleaner = command("OffsetCleaner.java", *coordinator_jars("4.3.1"), *metrics)  # 4.4.0 fails at offsets of a share group
    script = "\n".join((f"{now},{retention_ms // 60_000}", *texts, ""))
    done = subprocess.run(cleaner, input=script.encode(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return {tuple(json.loads(line)) for line in done.stdout.splitlines()}


TIMES = [START + 1000, START + 5000]
ISO = ["2023-11-14 22:13:21", "2023-11-14 22:13:25"]

KINDS_OF_TIME = {
    **{
        f"{unit}, {zone or 'no zone'}": pa.array(TIMES).cast(pa.timestamp("ms", zone)).cast(pa.timestamp(unit, zone))
        for unit, zone in [("s", None), ("us", None), ("us", "Europe/Berlin"), ("ns", None), ("ns", "Europe/Berlin")]
    },
    "ms as a number": pa.array(TIMES),
    "ms as text": pa.array([str(time) for time in TIMES]),
    "text without a zone": pa.array(ISO),
    "text of pandas with a zone": pa.array([f"{ISO[0]}.000+00:00", f"{ISO[1].replace('22:', '23:')}+01:00"]),
    "ISO text and ms": pa.array([f"{ISO[0].replace(' ', 'T')}Z", str(TIMES[1])]),
}


@pytest.mark.slow
def test_times_are_read_as_pandas_and_others_write_them(spark, tmp_path):
    """Those without a zone are UTC."""
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    pq.write_table(pa.table(KINDS_OF_TIME), tmp_path / "times.parquet")
    frame = read(spark, Source.parse(str(tmp_path / "times.parquet")))
    kinds = {field.name: field.dataType for field in frame.schema.fields}
    read_times = frame.select(*(milliseconds(name, kind).alias(name) for name, kind in kinds.items())).toArrow().to_pydict()
    assert read_times == dict.fromkeys(KINDS_OF_TIME, TIMES)


@pytest.mark.slow
def test_rows_without_a_readable_time_are_rejected(pipeline, tmp_path):
    """And other rows of the log ends that lack something; a time of today is none."""
    (tmp_path / "ends.csv").write_bytes(
        b"topic,partition,log_end_offset,time\nt,0,150,2023-11-14 22:13:21\nt,0,9,10:00:00\nt,0,9,noon\nt,0,9,\n"
        b"t,0,,1\nt,-1,9,1\nt,x,9,1\n,0,9,1\nt\xff,0,9,1\n"
    )
    key, value = (base64.b64encode(data).decode() for data in (commit_key("g", "t", 0), commit_value(100, TIMES[0])))
    lines = [f"{key},{value},0,{row}" for row in (f"0,{ISO[0]}", "1,noon", f"x,{ISO[0]}", f"2,{TIMES[0]}")]
    (tmp_path / "records.csv").write_text("\n".join(["key,value,partition,offset,timestamp", *lines]))
    outcome = job.run(
        pipeline, records=Source.parse(str(tmp_path / "records.csv")), log_end=Source.parse(str(tmp_path / "ends.csv")),
        as_of=None, retention_minutes=RETENTION_MINUTES, weight="lag", group=None,
    )  # fmt: skip
    rejected = {"no log end offset": 1, "no partition": 2, "no time": 3, "no topic": 1, "topic is not UTF-8": 1}
    assert outcome.summary["rejected_log_ends"] == rejected
    assert (outcome.summary["records"]["records"], outcome.summary["records"]["unreadable"]) == (4, 2)
    assert outcome.summary["partitions"]["lag"] == 50
    assert (
        outcome.report.verdict
        == "The lag is 50 records over 1 partition. Whether it grows is not known: that takes log ends of several times."
    )
    rows = rows_of(outcome.tables[REJECTED_ROWS])
    reasons = [row["reason"] for row in rows]
    assert {reason: reasons.count(reason) for reason in rejected} == rejected
    assert {"the timestamp is unreadable", "the offset is unreadable"} <= set(reasons)
    (line,) = (json.loads(row["record"]) for row in rows if row["reason"] == "the timestamp is unreadable")
    assert (line["key"], line["timestamp"]) == (key, "noon")
    assert "rejected log ends" in outcome.report.html()
    (tmp_path / "ends.csv").write_text("topic,partition,log_end_offset,time\nt,0,150,noon\n")
    with pytest.raises(WrongSource, match=r"ends\.csv has no readable row \(1 with no time\)"):
        run(pipeline, tmp_path, table([(b"", b"", START)]), log_end=Source.parse(str(tmp_path / "ends.csv")))


@pytest.mark.slow
def test_lag_has_a_trend_a_holder_and_an_end(pipeline, tmp_path, client):
    """Times of records and of log ends may be of different kinds: ISO text and ms, ns in Berlin, and ms as text."""
    log = [
        (classic_key("g"), classic_value({"a": {"t": [0]}, "b": {"t": [1, 2]}}, START), START),
        *((commit_key("g", "t", 0), commit_value(100 * i, START + 1000 * i), START + 1000 * i) for i in range(1, 11)),
        (commit_key("g", "t", 1), commit_value(50, START + 500), START + 500),
        (commit_key("gone", "t", 0), commit_value(10, START, START + 10), START + 600),
        *((key, value, START + 700) for key, value in consumer_group("new", {"n": (["u"], {TOPIC_ID: [0]})})),
        (commit_key("new", "u", 0), commit_value(7, START + 800, topic_id=TOPIC_ID), START + 800),
        (b"\x00\x01\x00", None, START + 900),
    ]
    ends = [{"topic": topic, "partition": partition, "log_end_offset": end, "time": START + 1000 * i}
            for i in (1, 5, 9) for topic, partition, end in
            (("t", 0, 1000 + 50 * i), ("t", 1, 100 + 10 * i), ("t", 2, 5), ("u", 0, 7))]  # fmt: skip
    ends = pa.Table.from_pylist(ends)
    csv.write_csv(ends, tmp_path / "ends.csv")
    in_berlin = ends["time"].cast(pa.timestamp("ms", "Europe/Berlin")).cast(pa.timestamp("ns", "Europe/Berlin"))
    pq.write_table(ends.set_column(3, "time", in_berlin), tmp_path / "ends.parquet")
    mixed = table(log)
    texts = [
        f"{time:%Y-%m-%dT%H:%M:%S.%fZ}" if i % 2 else str(log[i][2]) for i, time in enumerate(mixed["timestamp"].to_pylist())
    ]
    mixed = mixed.set_column(4, "timestamp", pa.array(texts))
    names = (job.OFFSETS, job.GROUPS, job.MEMBERS, job.HISTORY, job.REQUESTS, REJECTED_ROWS)
    outcome, tables = run(pipeline, tmp_path, mixed, *names, log_end=Source.parse(str(tmp_path / "ends.parquet")))
    assert outcome.summary["as_of"] == "2023-11-14T22:13:29+00:00"
    assert outcome.summary["rejected_log_ends"] == {}
    rows = {(row["group"], row["topic"], row["partition"]): row for row in tables[job.OFFSETS]}

    first = rows["g", "t", 0]
    assert (first["committed_offset"], first["log_end_offset"], first["lag"]) == (900, 1450, 550)
    assert (first["consumed_per_second"], first["produced_per_second"]) == pytest.approx((100, 50))
    assert (first["lag_per_second"], first["seconds_to_catch_up"]) == pytest.approx((-50, 11))
    assert (first["member_id"], first["client_id"]) == ("a", "client-a")

    second = rows["g", "t", 1]
    assert (second["lag"], second["lag_per_second"], second["seconds_to_catch_up"]) == (140, pytest.approx(10), None)
    assert (first["trend"], second["trend"]) == ("shrinking", "growing")
    uncommitted = rows["g", "t", 2]
    assert (uncommitted["member_id"], uncommitted["committed_offset"], uncommitted["lag"]) == ("b", None, None)
    assert (rows["gone", "t", 0]["expired"], rows["gone", "t", 0]["lag"]) == (True, None)
    assert (rows["new", "u", 0]["member_id"], rows["new", "u", 0]["lag"], rows["new", "u", 0]["seconds_to_catch_up"]) == (
        "n",
        0,
        0,
    )

    groups = {row["group"]: row for row in tables[job.GROUPS]}
    assert (groups["g"]["lag"], groups["g"]["seconds_to_catch_up"]) == (690, None)
    members = {(row["group"], row["member_id"]): row for row in tables[job.MEMBERS]}
    assert (members["g", "a"]["lag"], members["g", "b"]["lag"]) == (550, 140)
    assert [row["lag"] for row in tables[job.HISTORY] if row["group"] == "g"] == [950 + 60, 750 + 100, 690]
    (unreadable,) = tables[REJECTED_ROWS]
    assert unreadable["reason"].startswith("key, byte 2:")

    questions = outcome.summary["group_assignments"]
    assert [asked["group_id"] for asked in questions] == ["g", "new"]
    assert all(client.post("/v1/group-assignments", json=asked).status_code == 200 for asked in questions)
    question = questions[0]
    assert question["topics"] == [{"topic_name": "t", "partitions_count": 3, "partition_weights": [550.0, 140.0, 0.0]}]
    assert question["members"][1]["owned_partitions"] == [{"topic_name": "t", "partition_ids": [1, 2]}]
    asked = client.post("/v1/group-assignments", json={**question, "assignor": "sticky"})
    assert asked.json["movement"]["retained"] == 3
    assert asked.json["weighted_member_load"]["totals"] == [550, 140]
    assert "Lag over time" in outcome.report.html()
    json.dumps(outcome.summary)

    # And fleet takes the table of requests.
    asked = pa.Table.from_pylist(tables[job.REQUESTS])
    assert [row["error"] for batch in assign_groups(asked.to_batches(), (), "question") for row in batch.to_pylist()] == [
        None
    ] * 2

    # Told of one group the summary is its request.
    one, tables = run(pipeline, tmp_path, log, job.GROUPS, log_end=Source.parse(str(tmp_path / "ends.csv")), group="g")
    assert one.summary == question
    assert [row["group"] for row in tables[job.GROUPS]] == ["g"]


@pytest.mark.parametrize(("groups", "complaint"), [(1, "The group 'g' has no members"), (0, "Unknown group 'g' as of noon")])
def test_a_group_that_cannot_be_asked_about_is_refused_with_the_reason(groups, complaint):
    with pytest.raises(WrongSource, match=complaint):
        job._only("g", {"group_assignments": [], "groups": groups, "as_of": "noon"})


def test_a_table_that_is_no_topic_is_refused_by_the_column_that_it_lacks(pipeline, tmp_path):
    with pytest.raises(WrongSource, match="no column 'key'"):
        run(pipeline, tmp_path, pa.table({"keys": [1]}))
