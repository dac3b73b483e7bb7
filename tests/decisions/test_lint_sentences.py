"""What a lint finds in random reassignments, recomputed from the question."""

from __future__ import annotations

import json
import random
import re
from typing import Any, TypeAlias

from service.api.reassignment_lints import FORM
from service.core.budget import Budget
from tests.api.test_reassignment_conclusions import drawn

Placed: TypeAlias = dict[tuple[str, int], list[int]]


def drawn_lint(seed: int) -> dict[str, Any]:
    """A cluster as plans are asked of, some disks, and a reassignment with mistakes."""
    draw, cluster = random.Random(seed), drawn(seed)
    ids = [broker["broker_id"] for broker in cluster["brokers"]]
    rows = []
    for topic in cluster["topics"]:
        for placed in topic["placements"]:
            old = placed["replicas"]
            pool = [*dict.fromkeys([*ids, *old])]
            new = draw.choice([old, draw.sample(old, len(old)), draw.sample(pool, len(old)), draw.sample(ids, min(len(ids), 2))])
            rows.append({"topic": topic["topic_name"], "partition": placed["partition_id"], "replicas": new})
    rows = draw.sample(rows, draw.randint(1, len(rows)))
    if draw.random() < 0.05:
        rows.append({"topic": "other", "partition": 0, "replicas": ids[:1]})
    brokers = [{name: value for name, value in broker.items() if name != "replaces"} for broker in cluster["brokers"]]
    for broker in brokers if "partition_bytes" in cluster["topics"][0] else ():
        if draw.random() < 0.7:
            broker["capacity_bytes"] = draw.choice([10**9, 10**10, 10**11])
    return {"brokers": brokers, "topics": cluster["topics"], "reassignment": {"version": 1, "partitions": rows}}


def expected_of_rows(body: dict[str, Any], now: Placed) -> list[tuple[str, str, str]]:
    """Severity, rule and text of what is wrong in single rows, but for racks."""
    brokers = {broker["broker_id"]: broker for broker in body["brokers"]}
    found: list[tuple[str, str, str]] = []
    for row in body["reassignment"]["partitions"]:
        new, old = row["replicas"], now.get((row["topic"], row["partition"]))
        if old is None:
            found.append(("error", "unknown-topic", "there is no such topic"))
        elif len(new) != len(old):
            found.append(("warning", "replication-factor", f"{len(new)} replica{'s' * (len(new) != 1)} instead of {len(old)}"))
        elif new == old:
            found.append(("warning", "no-op", "the partition has these replicas in this order already"))
        for i, broker in enumerate(new):
            if broker not in brokers:
                found.append(("error", "unknown-broker", f"the cluster has no broker {broker}"))
                continue
            state = next((state for state in ("fenced", "draining") if brokers[broker].get(state)), None)
            if state:
                severity, gets = ("warning", "keeps") if broker in (old or ()) else ("error", "gets")
                found.append((severity, "fenced-broker", f"broker {broker} is {state}, and {gets} a replica"))
            if i == 0 and state == "fenced":
                found.append(("error", "unavailable-leader", f"broker {broker} is fenced and cannot lead"))
    return found


class Lint:
    """What is said of a question. now, new, after : the replicas of each partition, of those listed, and of all afterwards"""

    def __init__(self, body: dict[str, Any]) -> None:
        self.body = body
        self.answer: dict[str, Any] = json.loads(FORM.json(FORM.decide(FORM.question(body), Budget())))
        self.now = {(t["topic_name"], p["partition_id"]): p["replicas"] for t in body["topics"] for p in t["placements"]}
        self.new = {(row["topic"], row["partition"]): row["replicas"] for row in body["reassignment"]["partitions"]}
        self.after = self.now | {key: replicas for key, replicas in self.new.items() if key in self.now}
        self.racks = {broker["broker_id"]: broker.get("rack_id") for broker in body["brokers"]}
        self.sizes = {
            (topic["topic_name"], placed["partition_id"]): size
            for topic in body["topics"]
            for placed, size in zip(topic["placements"], topic.get("partition_bytes", ()), strict=False)
        }

    def held(self, broker: int, placed: Placed) -> int:
        """The bytes on a broker."""
        return sum(size for key, size in self.sizes.items() if broker in placed[key])

    def judge(self, finding: dict[str, Any]) -> None:
        """Are the numbers of a finding about racks or about all of the reassignment those of the question?"""
        text, rule, key = finding["text"], finding["rule"], (finding["topic_name"], finding["partition_id"])
        numbers = [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", text)]
        if rule == "rack-rule":
            on, before = ({self.racks[i] for i in replicas if i in self.racks} for replicas in (self.new[key], self.now[key]))
            assert (numbers[0], numbers[2]) == (len(on), len(before)), text
            assert len(on) < numbers[1] <= len({*self.racks.values()}), text
            assert all(i in self.racks for i in self.new[key]), text
        elif rule == "disk":
            broker, capacity = next(b for b in self.body["brokers"] if b["broker_id"] == numbers[0]), "capacity_bytes"
            assert numbers[1:] == [*(self.held(numbers[0], each) for each in (self.after, self.now)), broker[capacity]], text
        elif rule == "skew":
            broker_id, has, of = map(int, re.findall(r"broker (\d+) has (\d+) of (\d+)", text)[0])
            counted = [i for each in self.after.values() for i in (each if text.startswith("Replicas") else each[:1])]
            assert (has, of) == (counted.count(broker_id), len(counted)), text
        elif rule == "avoidable-moves":
            fewer = int(re.findall(r"(\d+) are enough", text)[0])
            assert numbers[0] == sum(len({*self.after[key]} - {*self.now[key]}) for key in self.now) > fewer, text


def test_what_is_said_of_random_reassignments() -> None:
    seen = set[str]()
    for seed in range(200):
        lint = Lint(drawn_lint(seed))
        answer, unlimited = lint.answer, [b for b in lint.body["brokers"] if "capacity_bytes" not in b]
        of_rows = [each for each in answer["findings"] if each["topic_name"] and each["rule"] != "rack-rule"]
        said = sorted((each["severity"], each["rule"], each["text"]) for each in of_rows)
        assert said == sorted(expected_of_rows(lint.body, lint.now)), seed
        for finding in answer["findings"]:
            lint.judge(finding)
            seen.add(finding["rule"])
        has = [f"{count:,} {severity}{'s' * (count != 1)}" for severity, count in answer["counts"].items() if count]
        head, _, unchecked = answer["conclusion"].partition(" Not checked: ")
        assert all(each in head for each in has), seed
        assert ("No problem was found" in head) == (not has), seed
        assert ("racks" in unchecked) == (not any(lint.racks.values()) and max(map(len, lint.new.values())) > 1), seed
        has_row_errors = any(each["severity"] == "error" and each["topic_name"] for each in answer["findings"])
        assert ("disks" in unchecked) == (bool(unlimited) or has_row_errors), seed
    assert seen >= {"rack-rule", "disk", "skew", "avoidable-moves"}
