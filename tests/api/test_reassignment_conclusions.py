"""What a plan's sentences promise, against what Kafka does with its files, executed here on small random clusters."""

from __future__ import annotations

import json
import random
import re
from fnmatch import fnmatchcase
from typing import Any

import pytest

from service.api.reassignments import FORM
from service.core.budget import Budget
from service.http.forms import Refused

RUNS = 300
MARKS: tuple[tuple[str, ...], ...] = (
    *((), ("draining",), ("draining",), ("demoted",), ("demoted",), ("draining", "demoted"), ("fenced", "draining")),
)


def drawn(seed: int) -> dict[str, Any]:
    """A question: some racks, fenced, gone and new brokers, no leaders, replicas out of sync, drains, exclusions, sizes."""
    draw = random.Random(seed)
    ids = draw.sample(range(1, 2_000), draw.choice([1, 2, 3, 4, 5, 6]))
    racks = draw.choice(["none", "all", "all", "some"])
    brokers: list[dict[str, Any]] = [{"broker_id": i} for i in ids]
    for mark in draw.choice(MARKS):
        draw.choice(brokers)[mark] = True
    gone = draw.sample(range(3_000, 3_010), draw.choice([0, 0, 0, 1]))
    new = draw.choice([[], [], [4_000], [4_000, 4_001]])
    brokers += [{"broker_id": i} for i in new]
    for broker in brokers if racks != "none" else ():
        if racks == "all" or draw.random() < 0.6:
            broker["rack_id"] = draw.choice("abc")
    if new and draw.random() < 0.3:
        brokers[-1]["replaces"] = draw.choice(ids + gone)
    dead = {broker["broker_id"] for broker in brokers if broker.get("fenced")} | {*gone}
    dead |= {draw.choice(ids)} if draw.random() < 0.3 else set()
    known, is_sized = draw.random() < 0.8, draw.random() < 0.3
    topics = []
    for t in range(draw.randint(1, 3)):
        factor = min(draw.randint(1, 3), len(ids + gone))
        rows = [
            drawn_placement(draw, p, draw.sample(ids + gone, factor), ids, dead, known=known) for p in range(draw.randint(1, 4))
        ]
        topics.append({"topic_name": f"t{t}", "placements": rows})
        if is_sized:
            topics[-1]["partition_bytes"] = [draw.choice([0, 1_000, 10**9, 7 * 10**9]) for _ in rows]
    return {"brokers": brokers, "topics": topics, **drawn_options(draw, is_sized=is_sized)}


def drawn_options(draw: random.Random, *, is_sized: bool) -> dict[str, Any]:
    """What is asked of the plan."""
    options: dict[str, Any] = {"limits": {"throttle_bytes_per_second": draw.choice([10**5, 10**7])}} if is_sized else {}
    if draw.random() < 0.3:
        options["excluded_topics"] = [draw.choice(["t0", "t0", "*"])]
    if draw.random() < 0.4:
        options["leaders"] = draw.choice(["balance", "keep", "demote", "only"])
    if draw.random() < 0.25 and options.get("leaders") not in ("demote", "only"):
        options |= draw.choice([{"objective": "even"}, {"tolerance": 0.2}, {"max_moves": 2}])
    further = {"racks": ["none", "unknown"], "replication_factor": [1, 2, 3], "min_insync_replicas": [1, 2]}
    return options | {name: draw.choice(values) for name, values in further.items() if draw.random() < 0.2}


def drawn_placement(
    draw: random.Random, partition_id: int, replicas: list[int], ids: list[int], dead: set[int], *, known: bool
) -> dict[str, Any]:
    """A placement, with the state of its replicas if that is known."""
    others = [i for i in ids if i not in (*replicas, *dead)]
    running = {"adding_replicas": replicas[-1:], "removing_replicas": others[:1]} if others and draw.random() < 0.1 else {}
    if known and running and not dead & set(replicas):
        in_sync = [*replicas[:-1], *others[:1]]
        leader = draw.choice(in_sync)
        return {"partition_id": partition_id, "replicas": replicas, "in_sync_replicas": in_sync, "leader": leader, **running}
    in_sync = [i for i in replicas if i not in dead and draw.random() < 0.9]
    leader = draw.choice([*in_sync[:1] * 3, *in_sync, *[-1] * (not in_sync)])
    state = {"in_sync_replicas": in_sync, "leader": leader} if known else {}
    return {"partition_id": partition_id, "replicas": replicas, **state}


class Kafka:
    """The partitions while a plan's files are executed. Without in_sync_replicas, all on brokers that serve are in sync."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.serving = {broker["broker_id"] for broker in body["brokers"] if not broker.get("fenced")}
        self.replicas, self.in_sync, self.leader, self.copies = {}, {}, {}, 0
        for topic in body["topics"]:
            for placed in topic["placements"]:
                key = topic["topic_name"], placed["partition_id"]
                self.replicas[key] = placed["replicas"]
                self.in_sync[key] = set(placed.get("in_sync_replicas", placed["replicas"])) & self.serving
                given = placed.get("leader")
                self.leader[key] = self.first(key) if given is None or (given != -1 and given not in self.serving) else given
        self.stuck: set[tuple[str, int]] = set()

    def complete(self, body: dict[str, Any]) -> None:
        """Complete the reassignments in progress."""
        for topic in body["topics"]:
            for placed in topic["placements"]:
                key = topic["topic_name"], placed["partition_id"]
                self.in_sync[key] |= set(placed.get("adding_replicas", ())) & self.serving
                self.in_sync[key] -= set(placed.get("removing_replicas", ()))
                if self.leader[key] not in (*self.replicas[key], -1):
                    self.leader[key] = self.first(key)

    def first(self, key: tuple[str, int]) -> int:
        """The first replica in sync."""
        return next((i for i in self.replicas[key] if i in self.in_sync[key]), -1)

    def reassign(self, document: dict[str, Any]) -> None:
        """Execute a batch."""
        for row in document["partitions"]:
            key, new = (row["topic"], row["partition"]), row["replicas"]
            added = set(new) - set(self.replicas[key])
            self.copies += len(added)
            in_sync = (self.in_sync[key] | added) & set(new)
            if set(new) != set(self.replicas[key]) and (self.leader[key] == -1 or not in_sync):
                self.stuck.add(key)
                continue
            self.replicas[key], self.in_sync[key] = new, in_sync
            if self.leader[key] not in new and self.leader[key] != -1:
                self.leader[key] = self.first(key)

    def elect(self, document: dict[str, Any]) -> None:
        """Hold preferred leader elections."""
        for row in document["partitions"]:
            key = row["topic"], row["partition"]
            preferred = self.replicas[key][0]
            assert preferred in self.in_sync[key], "an election that is offered can be held"
            self.leader[key] = preferred

    def led(self) -> dict[int, int]:
        """The partitions that each broker leads."""
        return {i: sum(leader == i for leader in self.leader.values()) for i in {*self.leader.values()} - {-1}}

    def held(self, broker: int) -> int:
        """The replicas on a broker."""
        return sum(broker in replicas for replicas in self.replicas.values())


def sentences_are_true(body: dict[str, Any], answer: dict[str, Any]) -> None:  # noqa: C901 (one claim after the other)
    before, kafka = Kafka(body), Kafka(body)
    kafka.complete(body)
    for batch in answer["batches"]:
        kafka.reassign(batch["reassignment"])
    kafka.elect(answer["preferred_leader_elections"])
    text, known = answer["conclusion"], "leader" in body["topics"][0]["placements"][0]
    assert answer["moves"]["elections"] == len(answer["preferred_leader_elections"]["partitions"])
    if found := re.search(r"with ([\d,]+) cop(?:y|ies)", text):
        assert int(found[1]) == kafka.copies == answer["moves"]["replicas"]
    assert ("Copies nothing" in text or "Nothing" in text) <= (kafka.copies == 0)
    assert ("Nothing changes" in text) <= (
        answer["reassignment"]["partitions"] == [] == answer["preferred_leader_elections"]["partitions"]
    )
    assert ("fewest possible" in text) <= (answer["moves"]["gap"] == 0 or "above the fewest" in text or "not proven" in text)
    emptied = re.search(r"Empties brokers? ([\d, ]+)", text)
    for broker in map(int, emptied[1].split(",")) if emptied else ():
        assert before.held(broker) > kafka.held(broker) == 0
    drained = [broker["broker_id"] for broker in body["brokers"] if broker.get("draining")]
    drained += [broker["replaces"] for broker in body["brokers"] if "replaces" in broker]
    for broker in drained:
        names = re.findall(rf"Broker {broker} keeps ([\d,]+) replica", text)
        waits = re.search(rf"brokers? [\d, ]*\b{broker}\b[\d, ]*(?:is|are) empty only then", text)
        assert bool(names or waits) == (kafka.held(broker) > 0), (broker, text)
        if led := re.search(rf"Broker {broker} keeps [^:]*leads ([\d,]+):", text):
            assert int(led[1]) == sum(leader == broker for key, leader in kafka.leader.items() if key not in kafka.stuck)
    demoted = [broker["broker_id"] for broker in body["brokers"] if broker.get("demoted")]
    for broker in demoted if known else ():
        still = re.search(rf"Broker {broker} still leads ([\d,]+) partitions? afterwards, ([\d,]+) now", text)
        assert bool(still) == (kafka.led().get(broker, 0) > 0), text
        if still:
            assert (int(still[1]), int(still[2])) == (kafka.led()[broker], before.led().get(broker, 0))
    done = not kafka.stuck and not any(map(kafka.held, drained)) and not answer["outside_tolerance"]
    if known or not demoted:
        assert answer["complete"] == (done and not (known and any(kafka.led().get(i, 0) for i in demoted))), text
    if known:
        ids, counts = answer["after"]["broker_load"]["broker_ids"], answer["after"]["broker_load"]["current_leaders"]
        assert dict(zip(ids, counts, strict=True)) == {i: kafka.led().get(i, 0) for i in ids}
        if answer["objective"] == "fewest-moves" and (drained or demoted) and "leaders" not in body:
            moved = {(row["topic"], row["partition"]) for row in answer["reassignment"]["partitions"]}
            stays = {key for key, leader in before.leader.items() if leader not in demoted and key not in moved}
            stays = {key for key in stays if before.leader[key] in before.replicas[key] or before.leader[key] == -1}
            assert all(kafka.leader[key] == before.leader[key] for key in stays)
    changed = sum(kafka.leader[key] != before.leader[key] for key in kafka.leader)
    told = " ".join([text, *answer["effects"]])
    for found in re.findall(r"others lead (\d+)|(\d+) partitions? gets? another leader", told):
        assert int(max(found)) == changed, told
    if waits := re.search(r"\((\d+) of them wait for a leader", text):
        assert int(waits[1]) == sum(len(set(planned(answer, key, [])) - set(before.replicas[key])) for key in kafka.stuck)
    what_else_is_said(body, answer, before, known=known)
    of_brokers_and_racks(body, answer, kafka, known=known)
    of_replicas_in_sync(body, answer, kafka, known=known)


def of_replicas_in_sync(body: dict[str, Any], answer: dict[str, Any], kafka: Kafka, *, known: bool) -> None:
    """What fills a broker that may not run, and what keeps no replica in sync, are without another choice."""
    before = Kafka(body)
    before.complete(body)
    in_sync = {i for each in before.in_sync.values() for i in each}
    lagging = {i for i in before.serving if known and before.held(i) and i not in in_sync}
    gets = {i for key, now in before.replicas.items() for i in planned(answer, key, now) if i in lagging and i not in now}
    told = re.search(r"Brokers? ([\d, ]+) gets? \d+ replicas?, but", answer["conclusion"])
    assert {int(i) for i in re.findall(r"\d+", told[1] if told else "")} == gets
    spared = re.search(r"Brokers? ([\d, ]+) ha(?:s|ve) no replica in sync", answer["conclusion"])
    assert {int(i) for i in re.findall(r"\d+", spared[1] if spared else "")} <= lagging - gets
    given = {each["broker_id"] for each in body["brokers"] if not each.get("draining")}
    assert spared or gets or answer["objective"] != "even" or not lagging & given or "Nothing" not in answer["conclusion"]
    if gets:
        brokers = [{**each, "cordoned": each["broker_id"] in lagging} for each in body["brokers"]]
        with pytest.raises(Refused):
            decided({**body, "brokers": brokers})
    usable = {each["broker_id"] for each in body["brokers"] if not (each.get("fenced") or each.get("draining"))}
    usable -= {each.get("replaces") for each in body["brokers"]}
    for key in kafka.stuck:
        fewer = len(planned(answer, key, [])) < len(before.replicas[key])
        assert not (fewer and before.in_sync[key] & usable and before.leader[key] != -1), (key, answer["conclusion"])


def what_else_is_said(body: dict[str, Any], answer: dict[str, Any], before: Kafka, *, known: bool) -> None:
    """Of racks, of the way back, and of what the copies are for."""
    racks = [broker.get("rack_id") for broker in body["brokers"]]
    matters = body.get("racks") != "none" and body.get("leaders") not in ("only", "demote")
    matters &= any(
        (body.get("replication_factor") or len(before.replicas[key])) > 1
        for key in before.replicas
        if not is_excluded(body, key[0])
    )
    assert ("racks are not known" in answer["conclusion"]) == (matters and not any(racks) and body.get("racks") != "unknown")
    assert any("no rack and count" in each for each in answer["warnings"]) == (matters and any(racks) and None in racks)
    back = {i for row in answer["rollback"]["partitions"] for i in row["replicas"]}
    before.complete(body)
    alive = {i for i in before.serving if not known or any(i in in_sync for in_sync in before.in_sync.values())}
    returns = {i for key, now in before.replicas.items() for i in now if i not in planned(answer, key, now)}
    assert set(answer["rollback_needs"]) == (back & returns) - alive
    parts = next((each for each in answer["effects"] if each.startswith("Of the ")), None)
    assert "keep the limits of" not in str(parts) or any({"max_replicas", "capacity_bytes"} & {*each} for each in body["brokers"])
    if parts:
        assert sum(map(int, re.findall(r"(?:, | and )([\d]+) (?:leave|keep|even|raise|bring|take)", parts))) == int(
            parts.split()[2]
        )


def of_brokers_and_racks(body: dict[str, Any], answer: dict[str, Any], kafka: Kafka, *, known: bool) -> None:
    """Which racks end empty, who gains and has most, why a demoted broker leads still, and what fills new ones."""
    told = [*re.split(r"(?<=\.) (?=[A-Z])", answer["conclusion"]), *answer["effects"], *answer["warnings"]]
    now, then = (
        dict(zip(load["broker_ids"], load["replicas"]["counts"], strict=True))
        for load in (answer[when]["broker_load"] for when in ("before", "after"))
    )
    racks = {broker["broker_id"]: broker.get("rack_id") for broker in body["brokers"]}
    gains = {i: then[i] - now[i] for i in then}
    for text in told:
        ids = [int(i) for i in re.findall(r"\d+", re.match(r"Brokers? [\d, ]+|", text)[0])]  # type: ignore[index]
        if found := re.match(r"Rack (\w) is emptied", text):
            assert not any(then[i] for i, rack in racks.items() if rack == found[1]), text
            assert any(now[i] for i, rack in racks.items() if rack == found[1]), text
        elif "the most" in text:
            assert {*ids} == {i for i in gains if gains[i] == max(gains.values())}, text
        elif "the fullest, with" in text:
            assert {*ids} == {i for i in then if then[i] == max(then.values())}, text
        elif "goes from" in text and "preferred" not in text:
            assert [int(each) for each in re.findall(r"from (\d+) to (\d+)", text)[0]] == [now[ids[0]], then[ids[0]]]
        elif found := re.search(r"would give (?:it|them) about (\d+) of the (\d+) replicas?", text):
            even = {key: value for key, value in body.items() if key not in ("tolerance", "max_moves")} | {"objective": "even"}
            load = decided(even)["after"]["broker_load"]
            given = sum(count for i, count in zip(load["broker_ids"], load["replicas"]["counts"], strict=True) if i in ids)
            usable = {i["broker_id"] for i in body["brokers"] if not (i.get("fenced") or i.get("draining"))}
            usable -= {broker.get("replaces") for broker in body["brokers"]}
            assert int(found[2]) == sum(then[i] for i in usable), text
            assert given >= 1, text
        elif found := re.search(r"(?:still leads|stays the preferred leader of) [^(]* \(([^)]*)\)", text):
            reasons = set()
            for key in [key for key, leader in kafka.leader.items() if (leader if known else kafka.replicas[key][0]) in ids]:
                preferred, waits = kafka.replicas[key][0], known and key in kafka.stuck
                assert is_excluded(body, key[0]) or waits or preferred in ids or preferred not in kafka.in_sync[key], text
                reasons.add(
                    "excluded"
                    if is_excluded(body, key[0])
                    else "the reassignment waits"
                    if waits
                    else "no other replica may lead"
                    if preferred in ids
                    else "the preferred leader is not in sync"
                )
            assert reasons == {*found[1].split(" or ")}, text


def decided(body: dict[str, Any]) -> dict[str, Any]:
    """The answer, or a refusal's problem."""
    answer: dict[str, Any] = json.loads(FORM.json(FORM.decide(FORM.question(body), Budget())))
    return answer


def is_excluded(body: dict[str, Any], topic: str) -> bool:
    """May its replicas not move?"""
    included = body.get("included_topics", ["*"])
    return any(fnmatchcase(topic, each) for each in body.get("excluded_topics", ())) or not any(
        fnmatchcase(topic, each) for each in included
    )


def planned(answer: dict[str, Any], key: tuple[str, int], now: list[int]) -> list[int]:
    """Where a partition is after the plan."""
    rows = {(row["topic"], row["partition"]): row["replicas"] for row in answer["reassignment"]["partitions"]}
    return rows.get(key, now)


@pytest.mark.parametrize("part", range(3))
def test_what_sentences_say_is_what_kafka_does(part: int) -> None:
    answered = 0
    for seed in range(part * RUNS // 3, (part + 1) * RUNS // 3):
        body = drawn(seed)
        try:
            answer = decided(body)
        except Refused:
            continue  # no plan keeps the rules
        answered += 1
        try:
            sentences_are_true(body, answer)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
    assert answered > RUNS // 6


def of_orders(**asked: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A question about four partitions, in none of which broker 3 is in sync, and its answer."""
    rows = (([1, 3], [1]), ([2, 1], [2, 1]), ([3, 1], [1]), ([2, 4], [2, 4]))
    placements = [
        {"partition_id": i, "replicas": replicas, "in_sync_replicas": in_sync, "leader": in_sync[0]}
        for i, (replicas, in_sync) in enumerate(rows)
    ]
    brokers = [{"broker_id": i, "draining": i == 4 and "replication_factor" not in asked} for i in (1, 2, 3, 4)]
    body = {"brokers": brokers, "topics": [{"topic_name": "orders", "placements": placements}], **asked}
    return body, decided(body)


def test_brokers_and_replicas_that_are_not_in_sync_are_the_last_choice() -> None:
    for asked, end in (
        ({}, "no others."),
        ({"destinations": [3]}, "no plan without was found."),
        ({"replication_factor": 1}, ""),
    ):
        body, answer = of_orders(**asked)
        sentences_are_true(body, answer)
        assert any(each.endswith(end) for each in (answer["conclusion"], *answer["warnings"]))
        assert answer["complete"]
