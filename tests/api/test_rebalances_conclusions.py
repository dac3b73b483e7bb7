"""The sentences of a timeline, judged by its own figures and by a replay of who reads what."""

from __future__ import annotations

import random
import re
from typing import Any

import orjson
import pytest

from service.api.rebalances import FORM
from service.core.budget import Budget
from service.decisions.rebalances import answer as outcomes
from service.http.forms import Refused

Document = dict[str, Any]
PARTITIONS = {"t": 6, "u": 3}


def answered(question: Document) -> Document:
    answer: Document = orjson.loads(FORM.json(FORM.decide(FORM.question(question), Budget())))
    return answer


def event(kind: str, at_ms: int = 60_000, **fields: Any) -> Document:
    return {"at_ms": at_ms, "type": kind, **fields}


def stable(*events: Document, assignor: str = "range", protocol: str = "classic", poll_ms: int = 1_000, **body: Any) -> Document:
    """Two members that read t. body : other fields of the question"""
    owned = {"a": [0, 1, 2], "b": [3, 4, 5]}
    members = [
        {"member_id": name, "topic_names": ["t"], "owned_partitions": [{"topic_name": "t", "partition_ids": ids}]}
        for name, ids in owned.items()
    ]
    timing = {"poll_interval_ms": poll_ms}
    topics = [{"topic_name": "t", "partitions_count": 6}]
    group = {"group_protocol": protocol, "assignor": assignor, "topics": topics, "members": members}
    return {**group, "events": list(events), "timing": timing, **body}


LEAVE = [event("member_leaves", member_id=name) for name in "ab"]
ALL_THE_TIME = "every partition has a reader all the time"


@pytest.mark.parametrize(
    ("protocol", "assignor"), [("classic", "cooperative-sticky"), ("classic", "range"), ("consumer", "uniform")]
)
@pytest.mark.parametrize("poll_ms", [0, 1_000])
def test_when_everybody_leaves_nobody_reads(protocol: str, assignor: str, poll_ms: int) -> None:
    for events in (LEAVE, [event("scales", members_count=0)]):
        said = answered(stable(*events, protocol=protocol, assignor=assignor, poll_ms=poll_ms))["conclusion"]
        assert said.startswith("From 60 s on all 6 partitions have no reader: no member is left.")
        assert ALL_THE_TIME not in said


def test_a_topic_without_subscribers_has_no_reader() -> None:
    topics = [{"topic_name": "t", "partitions_count": 6}, {"topic_name": "audit", "partitions_count": 2}]
    new = event("topic_created", topic={"topic_name": "new", "partitions_count": 3})
    answer = answered(stable(new, assignor="cooperative-sticky", topics=topics))
    assert answer["conclusion"] == (
        "Creating new causes no rebalance. From 0 s on all 2 partitions of audit have no reader: no member subscribes to audit. "
        "From 60 s on all 3 partitions of new have no reader: no member subscribes to new."
    )
    dropped = event("subscription_changes", member_id="a", topic_names=[]), event("member_leaves", 90_000, member_id="b")
    assert (
        "From 90 s on all 6 partitions of t have no reader: no member subscribes to t."
        in answered(stable(*dropped))["conclusion"]
    )


def test_a_group_without_members_reads_nothing() -> None:
    group = stable(members=[])
    said = "From 0 s on all 6 partitions have no reader: the group has no members. Nothing happens to the group."
    assert answered(group)["conclusion"] == said
    assert answered({**group, "topics": []})["conclusion"] == "Nothing happens to the group."
    gone = stable(event("topic_deleted", topic_name="t"))["events"]
    assert answered({**stable(), "events": gone})["conclusion"] == "Deleting t causes 1 rebalance."


def test_what_has_a_reader_all_the_time() -> None:
    """Not with an eager assignor, and not where polls are only taken to take no time."""
    joins = event("member_joins", member={"member_id": "c", "topic_names": []})
    assert ALL_THE_TIME in answered(stable(joins, assignor="cooperative-sticky"))["conclusion"]
    assert "Nothing happens to the group; every partition has" in answered(stable())["conclusion"]
    stalls = event("member_stalls", member_id="a", for_ms=60_000)
    assert "which does not poll while it stalls" in answered(stable(stalls))["conclusion"]
    moves = event("member_joins", member={"member_id": "c", "topic_names": ["t"]})
    for assignor, protocol in (("range", "classic"), ("cooperative-sticky", "classic"), ("uniform", "consumer")):
        for poll_ms in (0, 1_000, 10_000):
            said = answered(stable(moves, assignor=assignor, protocol=protocol, poll_ms=poll_ms))["conclusion"]
            assert ALL_THE_TIME not in said
    assert "members stop reading in each" in answered(stable(joins, poll_ms=0))["conclusion"]


def test_at_most_is_a_bound_and_a_sum_is_called_one() -> None:
    answer = answered(stable(event("member_leaves", member_id="b"), poll_ms=10_000))
    totals, said = answer["totals"], answer["conclusion"]
    assert f"{totals['idle_partition_ms'] / 1000:.3g} s in all (" in said
    assert "summed over partitions, if members poll every 10 s" in said
    assert f"at most {totals['most_longest_idle_ms'] / 1000:.3g} s" in said
    assert totals["longest_idle_ms"] < totals["most_longest_idle_ms"]


def test_the_start_of_a_group_is_apart() -> None:
    members = [{"member_id": f"c{i}"} for i in range(1, 6)]
    topics = [{"topic_name": "orders", "partitions_count": 12}]
    question = {"topics": topics, "members": members, "events": [event("scales", 300_000, members_count=8)]}
    answer = answered(question)
    assert answer["conclusion"].startswith("Scaling to 8 takes 1 rebalance; partitions are without a reader for 1")
    assert answer["conclusion"].endswith("(Starting the group: 78.6 s.)")
    assert (answer["start"]["rebalances"], answer["totals"]["rebalances"]) == (1, 1)
    rows = {row["member_id"]: row["partitions"] for row in answer["rebalances"][0]["assignments"]}
    owned = [{**each, "owned_partitions": rows[each["member_id"]], "generation_id": 1} for each in members]
    pasted = answered({**question, "members": owned})
    assert "start" not in pasted
    assert pasted["totals"]["rebalances"] == 1
    assert pasted["draws"]["totals"]["moved"] == answer["draws"]["totals"]["moved"]
    assert pasted["totals"]["idle_partition_ms"] == pytest.approx(answer["totals"]["idle_partition_ms"], rel=0.25)
    formed = answered({**question, "events": []})
    assert formed["conclusion"].startswith("Starting the group takes 1 rebalance; partitions are without a reader for 78.6 s")


def test_an_assumption_that_decides_is_said() -> None:
    topics = [{"topic_name": name, "partitions_count": count} for name, count in PARTITIONS.items()]
    other = [{"member_id": "a", "topic_names": ["t"]}, {"member_id": "b", "topic_names": ["u"]}]
    group = {"topics": topics, "assignor": "range"}
    up = [event("scales", members_count=4)]
    said = "New members are taken to subscribe like the last one, to u; others subscribe to other topics."
    assert said in answered({**group, "members": other, "events": up})["conclusion"]
    alike = [{"member_id": name, "topic_names": ["u"]} for name in "ab"]
    assert "New members" not in answered({**group, "members": alike, "events": up})["conclusion"]
    assert "New members" not in answered({**group, "members": other, "events": [event("scales", members_count=1)]})["conclusion"]
    join = [event("member_joins", member={"member_id": "c"})]
    assert "Members that join are taken to" in answered({**group, "members": other, "events": join})["conclusion"]


def test_ways_that_are_compared() -> None:
    ways = [{"assignor": "cooperative-sticky"}, {"group_protocol": "consumer"}]
    answer = answered(stable(event("member_leaves", member_id="b"), compare=ways))
    idle = [one["totals"]["idle_partition_ms"] for one in (answer, *answer["comparisons"])]
    assert (
        f"for the shortest time with consumer uniform, {min(idle) / 1000:.3g} s in all, summed over partitions"
        in answer["conclusion"]
    )
    assert any(text.startswith("If members polled every 10 s") for text in answer["warnings"])
    assert "No way is better." in answered(stable(*LEAVE, compare=ways))["conclusion"]


# ---- a replay of random timelines ---------------------------------------------------------------------------------------

WAYS = [
    *(("classic", name) for name in ("range", "roundrobin", "sticky", "cooperative-sticky", "balanced", "sarama:range")),
    *(("consumer", name) for name in ("uniform", "range")),
]


KINDS = [
    *("member_leaves", "member_leaves", "member_crashes", "member_joins", "member_restarts", "member_stalls", "member_stalls"),
    *("scales", "rolling_restart", "topic_created", "topic_deleted", "partitions_added"),
]


def drawn_question(chance: random.Random) -> Document:
    """A small group, with up to four events."""
    protocol, assignor = chance.choice(WAYS)
    count = chance.randrange(1, 5)
    subscriptions = [chance.choice([["t"], ["u"], ["t", "u"]]) for _ in range(count)]
    if chance.random() < 0.6:
        subscriptions = [["t", "u"]] * count
    instances = chance.random() < 0.2
    members = [
        {"member_id": f"m{i}", "topic_names": names, **({"instance_id": f"i{i}"} if instances else {})}
        for i, names in enumerate(subscriptions)
    ]
    there, events, at_ms = [f"m{i}" for i in range(count)], list[Document](), 60_000
    for number in range(chance.randrange(5)):
        kind, seen = chance.choice(KINDS), {each["type"] for each in events}
        topic, restart = {"topic_name": f"x{number}", "partitions_count": 2}, {"down_ms": 1_000, "pause_ms": 5_000}
        further = {
            "scales": event("scales", at_ms, members_count=chance.randrange(5)),
            "rolling_restart": event("rolling_restart", at_ms, **restart),
            "topic_created": event("topic_created", at_ms, topic=topic),
            "topic_deleted": event("topic_deleted", at_ms, topic_name="u"),
            "partitions_added": event("partitions_added", at_ms, topic_name="t", partitions_count=9),
        }
        if kind.startswith("member_") and kind != "member_joins" and there:
            name = chance.choice(there)
            down = {"member_restarts": "down_ms", "member_stalls": "for_ms"}.get(kind)
            events.append(event(kind, at_ms, member_id=name, **({down: chance.choice([500, 60_000, 400_000])} if down else {})))
            if down is None:
                there.remove(name)
        elif kind == "member_joins":
            joining = {"member_id": f"n{number}", "topic_names": chance.choice([["t"], ["u"]])}
            events.append(event(kind, at_ms, member=joining))
            there.append(f"n{number}")
        elif kind in further and not (kind in seen and kind in ("topic_deleted", "partitions_added")):
            events.append(further[kind])
            there = [] if kind == "scales" else there  # their names are not followed any longer
        at_ms += chance.choice([0, 5_000, 400_000])
    topics = [{"topic_name": name, "partitions_count": size} for name, size in PARTITIONS.items()]
    timing = {} if chance.random() < 0.5 else {"poll_interval_ms": chance.choice([0, 500, 3_000])}
    group = {"group_protocol": protocol, "assignor": assignor, "topics": topics, "members": members}
    return {**group, "events": events, "timing": timing, "detail": "assignments"}


def readers(answer: Document, at_ms: int) -> int:
    """How many partitions are read, from this time on."""
    count = 0
    for member in answer["members"]:
        if member["ended_ms"] is None or member["ended_ms"] > at_ms:
            times, counts = member["reads"]["at_ms"], member["reads"]["partitions"]
            count += next((counts[i] for i in reversed(range(len(times))) if times[i] <= at_ms), 0)
    return count


def judge(question: Document, answer: Document) -> None:
    """Is each sentence true?"""
    said, totals, end = answer["conclusion"], answer["totals"], answer["end"]
    asked = [one for one in answer["rebalances"] if one["event"] is not None or not question["events"]]
    assert totals["rebalances"] == len(asked)
    counted = re.search(r"(?:takes?|causes?) (no|[0-9,]+) rebalances?", said)
    assert counted is None or int(counted[1].replace("no", "0")) == len(asked)
    assert totals["idle_partition_ms"] == sum(one["idle"]["partition_ms"] for one in asked) or question["events"]
    moved = re.search(r"from members that stay: ([0-9,]+)(?:\.| in each| with)", said)
    assert moved is None or int(moved[1]) == sum(
        one.get("movement", {}).get("moved", 0) + one.get("withheld", 0) for one in asked
    )
    assert ("(Starting the group:" in said) == bool(answer.get("start", {}).get("rebalances"))

    changes = sorted(
        {at for member in answer["members"] for at in (*member["reads"]["at_ms"], member["ended_ms"]) if at is not None}
    )
    last = max([0, *changes, *(each["at_ms"] for each in question["events"])])
    exist = dict(PARTITIONS)
    for each in question["events"]:
        if each["type"] == "topic_created":
            exist[each["topic"]["topic_name"]] = 2
        if each["type"] == "partitions_added":
            exist["t"] = 9
        if each["type"] == "topic_deleted":
            del exist["u"]
    unread = sum(one["partitions_count"] for one in end["unread"])
    assert end["partitions_count"] == sum(exist.values())
    assert readers(answer, last) == end["partitions_count"] - unread
    assert end["members_count"] == sum(member["ended_ms"] is None for member in answer["members"])
    assert ("no member is left" in said) == (end["members_count"] == 0)
    for one in end["unread"]:
        assert exist[one["topic_name"]] == one["of"]
    since = re.search(r"From ([0-9.,]+) s on all ([0-9]+) partitions have no reader", said)
    if since is not None:
        at_ms = float(since[1].replace(",", "")) * 1000
        assert int(since[2]) == unread == end["partitions_count"]
        assert not any(readers(answer, at) for at in changes if at >= at_ms + 0.005 * at_ms)
    assert ("keeps its reader" not in said) or not end["unread"]
    if ALL_THE_TIME in said:
        formed_ms = 59_000
        assert not end["unread"]
        assert {readers(answer, at) for at in changes if at >= formed_ms} <= {end["partitions_count"]}
    if " at most " in said:
        assert re.search(r"at most ([0-9.,]+) s", said)[1] == f"{seconds(totals['most_longest_idle_ms'])}"  # type: ignore[index]
    if totals["idle_partition_ms"]:
        assert f"are without a reader for {seconds(totals['idle_partition_ms'])} s in all" in said


def seconds(milliseconds: int) -> str:
    value = milliseconds / 1000
    return f"{value:,.0f}" if value >= 1000 or value.is_integer() else f"{value:.3g}"


def test_the_sentences_of_random_timelines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcomes, "MOST_DRAWS", 2)
    kinds: set[str] = set()
    judged = 0
    for seed in range(200):
        question = drawn_question(random.Random(seed))
        try:
            answer = answered(question)
        except Refused:
            continue  # an event for a member that is down
        judged += 1
        try:
            judge(question, answer)
        except AssertionError as error:
            raise AssertionError(f"{seed}: {answer['conclusion']}") from error
        kinds |= {
            kind
            for kind in (ALL_THE_TIME, "no member is left", "at most", "subscribes to", "Starting", "causes no")
            if kind in answer["conclusion"]
        }
    assert len(kinds) == 6
    assert judged > 170


def test_the_ways_of_random_timelines(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many ways are named as are equally short, or long; figures that are written alike are not called different."""
    monkeypatch.setattr(outcomes, "MOST_DRAWS", 2)
    ways = [{"assignor": "cooperative-sticky"}, {"group_protocol": "consumer"}, {"assignor": "range"}, {"static": True}]
    several = 0
    for seed in range(60):
        chance = random.Random(seed)
        question = drawn_question(chance)
        try:
            answer = answered({**question, "compare": chance.sample(ways, 3)})
        except Refused:
            continue
        said = answer["conclusion"]
        idle = [one["totals"]["idle_partition_ms"] for one in (answer, *answer["comparisons"])]
        found = re.search(r"the shortest time with (.*?), ([0-9.,]+) s in all.*; for the longest with (.*?), ([0-9.,]+) s", said)
        assert (found is None) == ("equally long" in said or "No way is better" in said), (seed, said)
        assert found or seconds(min(idle)) == seconds(max(idle)), (seed, said)
        for names, time, end in [(found[1], found[2], min(idle)), (found[3], found[4], max(idle))] if found else ():
            assert (len(re.split(", | and ", names)), time) == (idle.count(end), seconds(end)), (seed, said)
            several += idle.count(end) > 1
    assert several
