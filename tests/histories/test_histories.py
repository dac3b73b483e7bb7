"""What histories say of the real runs of ``tests/vectors/timelines``, whose events the recording script caused itself."""

import gzip
import json
import re
from io import BytesIO

import pytest

from service.core.budget import Budget
from service.core.errors import InvalidQuestion
from service.histories.answer import HistoryQuestion, answer
from service.histories.conclusions import conclusion, sentence, warnings
from service.histories.reading import LONGEST_LINE, HistorySource
from service.histories.times import written
from tests.histories.recorded import START_MS, log, records

FIRST_TWO = [["join c1", "join c2"]]
CAUSES = {
    "changes-range": [*FIRST_TWO, ["join c3"], ["session_expired c1"], ["leave c2"], ["leader_metadata c3"]],
    "changes-cooperative-sticky": [
        *FIRST_TWO, ["join c3"], ["cooperative_revocation c2"], ["session_expired c1"], ["leave c2"], ["leader_metadata c3"],
    ],
    "rolling-range": [["join c1", "join c2"], ["leave c1"], ["join c1"], ["leave c2"], ["join c2"]],
    "stalls-range": [*FIRST_TWO, ["join c3"], ["poll_interval_exceeded c2"], ["join c2"]],
    "static-range": [["join i1", "join i2", "join i3"], ["session_expired i2"], ["join i2"]],
    "subscriptions-range": [*FIRST_TWO, ["subscription c2"], ["subscription c1"], ["leader_metadata c1"]],
    "waits-cooperative-sticky": [
        ["join c1", "join c2", "join c3"], ["join c4"], ["cooperative_revocation c3", "session_expired c2"],
    ],
    "static-consumer": [["join i1"], ["join i2"], ["join i3"], ["session_expired i2"], ["join i2"]],
    "migration": [*FIRST_TWO, ["leave c1"], ["join c1"], ["leave c2"], ["join c2"]],
}  # fmt: skip


def told(group, *texts, names=()):
    sources = [HistorySource(dict(enumerate(names)).get(i, f"t{i}"), BytesIO(text)) for i, text in enumerate(texts)]
    return answer(HistoryQuestion(group, sources), Budget())


def causes(history):
    return [
        sorted(" ".join([cause.kind, *map(history.names, cause.members)]) for cause in each.rebalance.causes)
        for each in history.told
    ]


@pytest.mark.parametrize("name", CAUSES)
def test_every_rebalance_has_its_cause(name):
    history = told(name, log(name).encode(), records(name).encode())
    known = {"leader_metadata c3": "new_partitions c3"}  # the records tell that a topic has more
    expected = [sorted(known.get(cause, cause) for cause in each) for each in CAUSES[name]]
    assert causes(history) == expected
    assert history.missing == 0
    for each in history.told:
        assert each.rebalance.events, "each has a line that tells of it"
        assert None in each.standstill or each.standstill.least_ms <= each.standstill.most_ms


@pytest.mark.parametrize("name", ["changes-range", "static-range", "rolling-cooperative-sticky"])
def test_records_alone_do_not_tell_leaving_from_expiring(name):
    with_log, alone = told(name, log(name).encode()), told(name, records(name).encode())
    weaker = {"leave": "leave_or_expiry", "session_expired": "leave_or_expiry", "leader_metadata": "new_partitions"}
    kinds = [[weaker.get(cause.kind, cause.kind) for cause in each.rebalance.causes[:1]] for each in with_log.told]
    assert [[cause.kind for cause in each.rebalance.causes[:1]] for each in alone.told] == kinds
    assert [each.rebalance.after.count for each in alone.told] == [each.rebalance.after.count for each in with_log.told]


def test_the_zone_of_a_log_is_that_by_which_it_shares_events_with_records():
    history = told("changes-range", log("changes-range", hours=2).encode(), records("changes-range").encode())
    assert history.aligned.clocks[0].shift_ms == pytest.approx(-7_200_000, abs=100)
    assert "The clock of t0 is 120 min ahead, by 5 shared events" in " ".join(warnings(history))
    assert written(history.told[1].rebalance.began_ms, history.aligned.clock)[:19] == "2026-11-21T09:00:08"
    alone = told("changes-range", log("changes-range", hours=2).encode())
    assert written(alone.told[1].rebalance.began_ms, alone.aligned.clock) == "2026-11-21T11:00:08.217"


def test_sources_that_share_nothing_keep_their_numbers_but_not_their_times():
    lines = log("changes-range", hours=5).splitlines(keepends=True)
    late = "".join(lines[19:]).encode()  # generations 4 and 5
    stored = "".join(records("changes-range").splitlines(keepends=True)[:4]).encode()  # 1 to 3
    history = told("changes-range", late, stored, names=("broker.log", "records"))
    assert [each.rebalance.number for each in history.told] == [1, 2, 3, 4, 5]
    assert history.told[0].rebalance.joined_ms is None  # the source with the most events keeps its times
    assert history.told[-1].rebalance.began_ms is not None
    assert any("records shares no event" in warning for warning in warnings(history))


def test_rotated_files_in_any_order_that_overlap():
    whole = log("bounces").splitlines(keepends=True)
    early, late = "".join(whole[:25]).encode(), gzip.compress("".join(whole[20:]).encode())
    assert causes(told("bounces", late, early)) == causes(told("bounces", log("bounces").encode()))


def test_a_cut_log_says_what_is_missing():
    lines = log("bounces").splitlines(keepends=True)
    cut = "".join(lines[8:14] + lines[30:-2])
    history = told("bounces", cut.encode())
    said = " ".join(warnings(history))
    assert "begin with generation 2" in said
    assert "Between 3 and 7 3 rebalances left no line" in said
    assert "No source tells the end of generation 10" in said
    assert history.missing == 3
    assert conclusion(history).startswith("9 rebalances in ")


def test_another_groups_lines_are_not_this_groups():
    mixed = log("changes-range") + log("stalls-range").replace("stalls-range", "changes-range-2")
    history = told("changes-range", mixed.encode())
    assert causes(history) == causes(told("changes-range", log("changes-range").encode()))
    with pytest.raises(InvalidQuestion, match=r"tells what happened to the group 'nobody'\. They tell of changes-range"):
        told("nobody", mixed.encode())


def test_a_group_that_counts_again_lives_again():
    day = 86_400_000
    later = log("changes-range").replace("2026-11-21", "2026-11-22")
    history = told("changes-range", (log("changes-range") + later).encode())
    assert [each.rebalance.number for each in history.told] == [1, 2, 3, 4, 5] * 2
    assert history.told[5].rebalance.began_ms - history.told[0].rebalance.began_ms == day
    assert "began to count again 1 time" in " ".join(warnings(history))


def test_a_group_that_is_deleted_and_created_within_a_minute_lives_again():
    lines = records("static-consumer").splitlines(keepends=True)
    key = '{"type": "3", "data": {"groupId": "static-consumer"}}'
    end = max(int(line.split("CreateTime: ")[1].split()[0]) for line in lines)
    first = min(int(line.split("CreateTime: ")[1].split()[0]) for line in lines)
    deleted = f"| offset: 1 CreateTime: {end} keySize: 9 valueSize: 9 key: {key} payload: <DELETE>\n"
    later = [re.sub(r"CreateTime: (\d+)", lambda at: f"CreateTime: {int(at[1]) + end - first + 1000}", line) for line in lines]
    history = told("static-consumer", "".join([*lines, deleted, *later]).encode())
    half = len(history.told) // 2
    assert [each.rebalance.life for each in history.told] == [0] * half + [1] * half
    assert causes(history)[:half] == causes(history)[half:] == causes(told("static-consumer", "".join(lines).encode()))


def test_why_a_member_left_says_nothing_of_why_it_leaves_again():
    said = "[GroupId g] Member m {} the consumer group", "[GroupId g] Bumped group epoch to {} with metadata hash 7."
    broker = "".join(
        f"[2026-11-21 09:00:{10 * i:02},000] INFO {text}\n[2026-11-21 09:00:{10 * i:02},001] INFO {said[1].format(i + 2)}\n"
        for i, text in enumerate([*(said[0].format(does) for does in ("joins", "left", "joins", "left"))])
    ).replace("group\n", "group using the consumer protocol.\n")
    closes = "[Consumer clientId=c, groupId=g] Member m with epoch -1 transitioned from LEAVING to UNSUBSCRIBED."
    history = told("g", broker.encode(), f"[2026-11-21 09:00:09,999] INFO {closes}\n".encode())
    assert [each.rebalance.causes[0].kind for each in history.told] == ["join", "leave", "join", "leave"]
    assert [each.rebalance.causes[0].said != "" for each in history.told] == [False, True, False, False]


def test_logs_of_two_brokers_that_share_nothing_are_said_to_be_taken_as_equal():
    lines = log("changes-range").splitlines(keepends=True)
    history = told("changes-range", "".join(lines[:19]).encode(), "".join(lines[19:]).encode(), names=("b1.log", "b2.log"))
    assert "The clocks of b1.log and b2.log share no event and tell no zone: they are taken as equal." in list(warnings(history))


def test_lines_that_cannot_be_read_are_counted():
    broken = records("changes-range").replace('"protocolType"', '"protocoltype"', 2)
    history = told("changes-range", (log("changes-range") + broken).encode())
    assert history.reading.faults_count == 2
    assert "protocolType is missing" in " ".join(warnings(history))
    assert conclusion(history).startswith("At least 5 rebalances in ")
    assert conclusion(history).endswith(" in these. 2 lines cannot be read.")


DUMPED = """\
Dumping /var/lib/kafka/__consumer_offsets-1/00000000000000000000.log
| offset: 0 CreateTime: 1795966321064 keySize: 13 valueSize: 24 headerKeys: [] key: {"type":"2","data":{"group":"g"}} \
payload: {"version":"3","data":{"protocolType":"","generation":0,"protocol":null,"leader":null,"currentStateTimestamp":\
1795966321047,"members":[]}}
| offset: 1 CreateTime: 1795966321195 keySize: 13 valueSize: 215 headerKeys: [] key: {"type":"2","data":{"group":"g"}} \
payload: {"version":"3","data":{"protocolType":"consumer","generation":1,"protocol":"range","leader":"cc-1",\
"currentStateTimestamp":1795966321172,"members":[{"memberId":"cc-1","groupInstanceId":null,"clientId":"cc","clientHost":"/h",\
"rebalanceTimeout":300000,"sessionTimeout":45000,"subscription":{"topics":["t"],"userData":"","ownedPartitions":[],\
"generationId":-1,"rackId":""},"assignment":{"assignedPartitions":[{"topic":"t","partitions":[0,1,2]}],"userData":""}}]}}
| offset: 5 CreateTime: 1795966333003 keySize: 38 valueSize: -1 headerKeys: [] key: {"type":"2","data":{"group":"g"}} \
payload: <DELETE>
"""
"""By kafka-dump-log of kafka-tools 4.3.1 with --offsets-decoder, of a group of librdkafka; names are shortened."""


def test_what_kafka_dump_log_prints():
    history = told("g", DUMPED.encode())
    assert causes(history) == [["join cc"]]
    assert history.told[0].check.alike
    assert (history.told[0].rebalance.joined_ms, history.told[0].rebalance.ended_ms) == (1795966321172, 1795966321195)
    assert not history.reading.faults
    assert conclusion(history).endswith("No partition lost its reader.")
    doubtful = told("g", DUMPED.replace('"generation":0', '"generation":"x"').encode())
    assert conclusion(doubtful).endswith("No partition lost its reader in these. 1 line cannot be read.")


def test_a_record_that_cannot_be_read_leaves_open_who_was_there():
    history = told("changes-range", records("changes-range").replace('"generation": 2', '"generation": "2"').encode())
    assert [each.rebalance.number for each in history.told] == [1, 3, 4, 5]
    assert not history.told[1].rebalance.before.complete
    assert history.told[1].rebalance.causes == []


def test_a_state_that_no_member_can_have_is_a_fault():
    lines = (
        {"record_type": 3, "key": {"groupId": "g"}, "value": {"epoch": 1}},
        {"record_type": 8, "key": {"groupId": "g", "memberId": "m"}, "value": {"memberEpoch": 1, "state": 7}},
    )
    assert told("g", "\n".join(map(json.dumps, lines)).encode()).reading.faults_count == 1


def test_memory_is_bounded():
    class Endless:
        """A line without an end, four times as long as the longest."""

        left = 4 * LONGEST_LINE

        def read(self, size):
            self.left -= size
            return b"changes-range " * (size // 14) if self.left > 0 else b""

    sources = [HistorySource("endless", Endless()), HistorySource("log", BytesIO(log("changes-range").encode()))]
    history = answer(HistoryQuestion("changes-range", sources), Budget())
    assert len(history.told) == 5
    assert f"longer than {LONGEST_LINE:,} bytes" in " ".join(warnings(history))


@pytest.mark.parametrize(
    ("prefix", "at"),
    [
        ("2026-11-21T10:00:00.5+01:00 ", "2026-11-21T09:00:00.500Z"),
        ("[2026-11-21 09:00:00,500] INFO ", "2026-11-21T09:00:00.500"),
        ("26/11/21 09:00:00 INFO ", "2026-11-21T09:00:00.000"),
        ("%7|1795251600.500|X| ", "2026-11-21T09:00:00.500Z"),
        ('{"ts":1795251600500,"message":"', "2026-11-21T09:00:00.500Z"),
        ("INFO ", None),
    ],
)
def test_times(prefix, at):
    line = f"{prefix}Group orders with generation 8 is now empty" + ('"}' if prefix.startswith("{") else "")
    history = told("orders", line.encode())
    joined = history.told[0].rebalance.joined_ms
    assert (None if joined is None else written(joined, history.aligned.clock)) == at
    assert START_MS == 1_795_251_600_000


REPORTED = """\
[2020-01-17 10:24:24,876] INFO [GroupCoordinator 3]: Member p-c5d5 in group g has failed, removing it from the group (kafka.G)
[2020-01-17 10:24:24,877] INFO [GroupCoordinator 3]: Preparing to rebalance group g in state PreparingRebalance with old \
generation 1 (__consumer_offsets-43) (reason: removing member p-c5d5 on heartbeat expiration) (kafka.coordinator.group.G)
[2020-01-17 10:24:24,877] INFO [GroupCoordinator 3]: Group g with generation 2 is now empty (__consumer_offsets-43) (kafka.G)
[2020-01-17 10:29:24,877] INFO [GroupCoordinator 3]: Preparing to rebalance group g in state PreparingRebalance with old \
generation 2 (__consumer_offsets-43) (reason: Adding new member p-1 with group instance id None) (kafka.coordinator.group.G)
[2020-01-17 10:29:27,877] INFO [GroupCoordinator 3]: Stabilized group g generation 3 (__consumer_offsets-43) (kafka.G)
[2020-01-17 10:30:27,877] INFO [GroupCoordinator 3]: Member[group.instance.id None, member.id p-1] in group g has left, removing \
it from the group (kafka.coordinator.group.G)
[2020-01-17 10:30:27,878] INFO [GroupCoordinator 3]: Preparing to rebalance group g in state PreparingRebalance with old \
generation 3 (__consumer_offsets-43) (reason: removing member p-1 on LeaveGroup) (kafka.coordinator.group.G)
"""
"""As in public reports of 2020, by Kafka 2.4."""


def test_a_time_of_day_passes_midnight():
    lines = "".join(
        f"{time} INFO Stabilized group g generation {number} with 1 members.\n"
        for number, time in enumerate(("23:59:58.000", "23:59:59.000", "00:00:01.000", "12:30:00.000", "00:00:00.500"), 1)
    )
    history = told("g", lines.encode())
    assert [each.rebalance.number for each in history.told] == [1, 2, 3, 4, 5]
    first, *_, last = (each.rebalance.joined_ms for each in history.told)
    assert last - first == 24 * 3_600_000 + 2_500
    assert not [warning for warning in warnings(history) if "goes back" in warning]


LOOPING = """\
[2022-01-07 11:19:15,140] INFO [GroupCoordinator 0]: Preparing to rebalance group g in state PreparingRebalance with old \
generation 138896 (__consumer_offsets-45) (reason: leader c-1 re-joining group during Stable) (kafka.coordinator.group.G)
[2022-01-07 11:19:15,140] INFO [GroupCoordinator 0]: Stabilized group g generation 138897 (__consumer_offsets-45) with 1 members
[2022-01-07 11:19:15,141] INFO [GroupCoordinator 0]: Assignment received from leader for group g for generation 138897. The \
group has 1 members, 0 of which are static. (kafka.coordinator.group.GroupCoordinator)
[2022-01-07 11:19:20,899] INFO [GroupCoordinator 3]: Preparing to rebalance group g in state PreparingRebalance with old \
generation 138897 (__consumer_offsets-25) (reason: error when storing group assignment during SyncGroup (member: c-1)) (kafka.G)
2022-01-07 11:19:21,260 INFO [GroupCoordinator 0]: Stabilized group g generation 138898 (__consumer_offsets-7) (kafka.G) [data-0]
2022-01-07 11:19:22,241 INFO [GroupCoordinator 1]: Preparing to rebalance group g in state PreparingRebalance with old \
generation 138898 (__consumer_offsets-47) (reason: Adding new member c-2 with group instanceid None) (kafka.G) [data-5]
2022-01-07 11:19:22,253 INFO [GroupCoordinator 0]: Stabilized group g generation 138899 (__consumer_offsets-7) with 2 members
"""
"""As in public reports of ClickHouse, librdkafka, Strimzi and confluent-kafka-go."""


def test_logs_of_public_reports():
    history = told("g", LOOPING.encode())
    assert causes(history) == [["unknown c-1"], ["coordinator_error"], ["join c-2"]]
    assert sentence(history.told[0].rebalance.causes[0], history.names) == "c-1 rejoined; why is not told"
    assert history.told[2].rebalance.after.members.keys() == {"c-2"}  # the other has no line
    assert history.told[2].rebalance.after.count == 2


def test_logs_of_older_brokers():
    history = told("g", REPORTED.encode())
    assert causes(history) == [["session_expired p-c5d5"], ["join p-1"], ["leave p-1"]]
    assert history.told[0].rebalance.after.count == 0
    assert history.told[0].standstill == (None, None)
