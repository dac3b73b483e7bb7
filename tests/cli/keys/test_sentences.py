"""Every sentence about some hundred small key sets, judged by counting again with another murmur2.

Each sentence must be one of the templates below, so that a new one needs a judge; each judge recomputes its numbers.
"""

from __future__ import annotations

import random
import re
import zlib
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from service.api.fingerprints import document as fingerprint_document
from service.api.partition_counts import document as plan_document
from service.core.budget import Budget
from service.decisions.fingerprints import FingerprintQuestion
from service.decisions.fingerprints import answer as fingerprint
from service.decisions.partition_counts import PlansQuestion
from service.decisions.partition_counts import answer as plan
from tests.reference.hashes import murmur2

NUMBER = r"([\d.,]+)"
UNIT = r"(records/s|MB/s|% of the records)"


def java(key: str, n: int) -> int:
    return (murmur2(key.encode()) & 0x7FFFFFFF) % n


def rdkafka(key: str, n: int) -> int:
    return zlib.crc32(key.encode()) % n


def named(key: str, n: int) -> int:
    return zlib.adler32(key.encode()) * 40503 % 65521 % n


def close(text: str, value: float) -> bool:
    """Is this the value, rounded to three digits, or to a whole number from 100 on?"""
    shown = float(text.replace(",", ""))
    return abs(shown - value) <= max(0.006 * abs(value), 0.51 if value >= 100 else 1e-9)


def drawn(seed: int) -> tuple[dict[str, int], int, dict]:
    """Records of each key, records without one, and the other fields of a question."""
    draw = random.Random(seed)
    kind = draw.choice(["uniform", "zipf", "hot", "hot", "few", "equal"])
    count = draw.choice([2, 5, 40, 400]) if kind in ("few", "equal") else draw.choice([60, 400, 1500])
    keys = {
        f"k{seed}-{i}": {"uniform": draw.randint(1, 5), "zipf": 1 + 2000 // (i + 1), "few": draw.randint(1, 900)}.get(kind, 3)
        for i in range(count)
    }
    if kind == "hot":
        for i in range(draw.choice([1, 1, 2, 5])):
            keys[f"hot{i}"] = int(sum(keys.values()) * draw.uniform(0.02, 1.5))
    keyless = draw.choice([0, 0, 1, sum(keys.values()) // 2, 50 * sum(keys.values())])
    total = sum(keys.values()) + keyless
    counts = draw.choice([None, [draw.randint(1, 40)], [3, 6, 12], [6, 12, 24, 48], [5, 40]])
    asked = {"partitions_counts": counts, "current_partitions_count": draw.choice([None, None, 6, 12])}
    limit = draw.choice(["", "", "records", "mb", "skew", "records skew"])
    if "records" in limit:
        asked |= {"records_per_second": 1000.0, "max_partition_records_per_second": 1000 * draw.choice([0.02, 0.1, 0.3, 0.9])}
    elif draw.random() < 0.3:
        asked["duration_seconds"] = total / 500
    if "mb" in limit:
        asked |= {
            "target_mb_per_second": 50.0,
            draw.choice(["consumer_mb_per_second", "producer_mb_per_second"]): draw.choice([2.0, 10.0, 40.0]),
        }
    if "skew" in limit:
        asked["max_skew"] = draw.choice([1.05, 1.5, 4.0])
    return keys, keyless, asked


JUDGES = []
"""Patterns of sentences, and what judges a match: (match, the key set as ``counted_again`` gives it)."""


def template(*parts: str):
    """A sentence; N is a number, U its unit, P "12 partitions" or "one partition"."""
    words = {"N": NUMBER, "NU": f"{NUMBER} ?{UNIT}", "P": r"(\d+|[Oo]ne) partitions?"}
    pattern = re.sub(r"\b(NU|N|P)\b", lambda word: words[word[1]], "".join(parts))
    return lambda judge: JUDGES.append((re.compile(pattern + r"\."), judge))


def is_true(sentence: str, it: SimpleNamespace) -> bool:
    """Is the sentence one that is known, and true?"""
    matches = [(m, judge) for pattern, judge in JUDGES if (m := pattern.fullmatch(sentence.replace("more than 99.9%", "99.95%")))]
    return len(matches) == 1 and bool(matches[0][1](matches[0][0], it))


def number(text: str) -> float:
    return 1 if text in ("one", "One") else float(text.replace(",", ""))


def rate(it: SimpleNamespace, share: float, unit: str) -> float:
    return share * {"records/s": it.rate, "MB/s": it.target, "% of the records": 100}[unit]


def heaviest(it: SimpleNamespace) -> float:
    return max(it.keys.values()) / it.total


template("Split or drop the key")(lambda *_: True)
template("More keys are needed to use all partitions")(lambda _, it: 0 in it.keys.values() or len(it.keys) < max(it.shares) + 1)
template("One partition has every record")(lambda _, it: 1 in it.shares)
template("No partitioner gets below N")(lambda m, it: number(m[1]) <= it.shares[it.count] * it.count * 1.005)


@template(r"N% of the records have no key, which producers spread evenly(; of those with a key, (\S+) has all)?")
def _(m, it):
    return close(m[1], 100 * it.keyless / it.total) and (not m[2] or it.keys == {m[3]: it.total - it.keyless})


@template(r"No count works: (\S+) alone writes NU, (?:a partition takes|one consumer reads|producers write to one partition) N")
def _(m, it):
    alone = rate(it, it.keys[m[1]] / it.total, m[3])
    return close(m[2], alone) and alone > number(m[4]) and not any(it.keeps.values()) and it.keys[m[1]] == max(it.keys.values())


@template(r"With java and P, the fullest partition has N × the mean(: the records are spread evenly)?")
def _(m, it):
    skew = it.shares[number(m[1])] * number(m[1])
    return close(m[2], skew) and (not m[3] or skew <= 1.1001)


@template(r"With java and P, the fullest partition has N × the mean, as chance gives for these keys \(N to N\)")
def _(m, it):
    skew = it.shares[number(m[1])] * number(m[1])
    return close(m[2], skew) and number(m[3]) * 0.99 <= skew <= number(m[4]) * 1.01


@template("Chance gives N to N for these keys(, so the partitioner is the cause|; java is more even)")
def _(m, it):
    return ("more even" in m[3]) == (it.shares[it.count] * it.count < number(m[1]))


@template(
    r"(?:(\d+) keys, such as )?(.+?),? (?:has|have) N% of the records(?:, (\S+) alone N%)?: no partition count brings the ",
    r"fullest partition below (.+); with java and P, it has NU",
)
def _(m, it):
    named_keys, n = re.split(", | and ", m[2]), number(m[7])
    hot = sorted((weight for weight in it.keys.values() if weight > 1.1 * it.total / n), reverse=True)
    bound = re.match(rf"{NUMBER} (records/s|MB/s)", m[6])
    return (
        (int(m[1]) if m[1] else len(named_keys)) == len(hot)
        and close(m[3], 100 * sum(hot) / it.total)
        and it.keys[named_keys[0]] == max(hot)
        and (not m[4] or close(m[5], 100 * max(hot) / it.total))
        and (not bound or close(bound[1], rate(it, max(hot) / it.total, bound[2])))
        and close(m[8], rate(it, it.shares[n], m[9]))
        and min(it.shares.values()) >= heaviest(it) - 1e-9
    )


@template("The heaviest keys do not spread evenly: with java and P, the fullest partition has NU; no partitioner gets below NU")
def _(m, it):
    share = rate(it, it.shares[number(m[1])], m[3])
    return close(m[2], share) and number(m[4]) <= share * 1.01


@template("Without (?:this key|these keys), it would have N × the mean")
def _(m, it):
    light = {key: weight for key, weight in it.keys.items() if weight <= 1.1 * it.total / it.count}
    return close(m[1], fullest(light, it.keyless, it.count) * it.count)


@template(r"No partition count brings the fullest partition below the NU that (\S+) alone has")
def _(m, it):
    return close(m[1], rate(it, heaviest(it), m[2])) and it.keys[m[3]] == max(it.keys.values())


@template(r"Which of the counts proposed \((.+)\) is enough depends on what a partition can take: no limit was given")
def _(m, it):
    return not it.limits and list(it.shares) == [int(each) for each in m[1].split(", ")]


@template(
    r"P keeps? (?:the|every) limit: the fullest partition has (.*?)(, the fewest of those (?:planned|proposed) \(.*\)",
    r"( as large as the current one)? that do)?",
)
def _(m, it):
    count = number(m[1])
    for has, most, unit in re.findall(rf"{NUMBER} of {NUMBER} (records/s|MB/s|× the mean)", m[2]):
        value = it.shares[count] * count if unit == "× the mean" else rate(it, it.shares[count], unit)
        if not close(has, value) or value > number(most) * 1.001:
            return False
    return it.keeps[count] and not any(it.keeps[n] for n in it.shares if (it.current or 1) <= n < count)


@template(
    r"Of the counts (?:planned|proposed) \(.*\), none( as large as the current one)? keeps (?:the|every) limit; the least that ",
    "the fullest partition has is NU, with P",
)
def _(m, it):
    least = it.shares[number(m[4])]
    kept = any(kept for n, kept in it.keeps.items() if n >= (it.current or 1))
    return not kept and least == pytest.approx(min(it.shares.values())) and close(m[2], rate(it, least, m[3]))


@template(r"Above P, the N% of (\S+) alone exceed the limit of the skew")
def _(m, it):
    n = number(m[1])
    return close(m[2], 100 * heaviest(it)) and n * heaviest(it) <= it.limits["skew"] < (n + 1) * heaviest(it)


@template("P would, in a new topic: Kafka cannot remove partitions")
def _(m, it):
    return it.keeps[number(m[1])] and number(m[1]) < it.current


template("Kafka cannot remove partitions, so P would need a new topic")(lambda m, it: number(m[1]) < it.current)


@template("P exceed the limit of the skew, a ratio to a mean that shrinks, although the fullest partition would have less: NU")
def _(m, it):
    share = it.shares[number(m[1])]
    return share * number(m[1]) > it.limits["skew"] and close(m[2], rate(it, share, m[3]))


def fullest(keys: dict[str, int], keyless: int, n: int) -> float:
    """The share of the fullest of n partitions."""
    loads = Counter()
    for key, weight in keys.items():
        loads[java(key, n)] += weight
    return (max(loads.values(), default=0) + keyless / n) / (sum(keys.values()) + keyless)


def counted_again(keys: dict[str, int], keyless: int, asked: dict, counts: list[int], count: int) -> SimpleNamespace:
    total = sum(keys.values()) + keyless
    shares = {n: fullest(keys, keyless, n) for n in counts}
    rate = asked.get("records_per_second") or (total / asked["duration_seconds"] if asked.get("duration_seconds") else 0)
    mb = asked.get("consumer_mb_per_second") or asked.get("producer_mb_per_second")
    limits = {"records": asked.get("max_partition_records_per_second"), "skew": asked.get("max_skew"), "mb": mb}
    limits = {name: value for name, value in limits.items() if value is not None}
    of = {
        "records": lambda n: shares[n] * rate,
        "skew": lambda n: shares[n] * n,
        "mb": lambda n: shares[n] * asked["target_mb_per_second"],
    }
    keeps = {n: bool(limits) and all(of[name](n) <= most + 1e-9 for name, most in limits.items()) for n in counts}
    return SimpleNamespace(
        keys=keys, keyless=keyless, total=total, shares=shares, rate=rate, target=asked.get("target_mb_per_second"),
        limits=limits, keeps=keeps, current=asked["current_partitions_count"], count=count,
    )  # fmt: skip


def sentences_of(text: str) -> list[str]:
    """Split after each full stop that ends a sentence."""
    return re.split(r"(?<=\.) (?=[A-Z0-9]|k\d|hot\d)", text)


def test_all_that_is_concluded_about_counts_is_true():
    for seed in range(50):
        keys, keyless, asked = drawn(seed)
        rows = {"key": [*keys, *([None] if keyless else [])], "records": [*keys.values(), *([keyless] if keyless else [])]}
        histogram = {
            "key": rows["key"],
            "records": pa.chunked_array([pa.array(rows["records"], pa.int64())]),
            "bytes": pa.chunked_array([pa.nulls(len(rows["key"]), pa.int64())]),
        }
        answer = plan_document(plan(PlansQuestion(histogram=histogram, **asked), Budget()))
        (limits,) = answer["limits"]
        counts = sorted(each["partitions_count"] for each in answer["plans"])
        text = limits["conclusion"]
        in_question = re.search(r"ith java and (\d+) partitions", text)
        it = counted_again(keys, keyless, asked, counts, int(in_question[1]) if in_question else counts[0])
        for sentence in sentences_of(text):
            assert is_true(sentence, it), (seed, sentence, text)
        assert (limits["recommended"] is not None) == any(kept for n, kept in it.keeps.items() if n >= (it.current or 1))
        assert "worse" not in text


WRITERS = {"java": java, "librdkafka:consistent_random": rdkafka}


def written(seed: int) -> tuple[list[str], list[int], list[tuple[str, int]], int | None]:
    """Keys, where they are, the (writer, count) that wrote some, and the count that the question has."""
    draw = random.Random(seed)
    counts = sorted(draw.sample(range(2, 40), draw.choice([1, 1, 2, 2, 3])))
    kind = draw.choice(["one", "two", "named", "chance"])
    first, second = draw.sample([*WRITERS], 2)
    ways = [(first, n) for n in counts]
    ways += {"one": [], "two": [(second, counts[-1])], "named": [("", counts[-1])], "chance": []}[kind]
    if kind == "chance":
        ways = [("", counts[-1])]
    keys = [f"key-{draw.randrange(10**8)}" for _ in range(draw.choice([20, 100, 500]))]
    chosen = draw.choices(ways, [draw.uniform(0.1, 1) for _ in ways], k=len(keys))
    partition_ids = [
        WRITERS[writer](key, n) if writer else draw.randrange(n) for key, (writer, n) in zip(keys, chosen, strict=True)
    ]
    return keys, partition_ids, ways, draw.choice([None, counts[-1]])


def test_all_that_is_concluded_about_writers_is_true():
    silent = 0
    for seed in range(25):
        keys, partition_ids, ways, partitions_count = written(seed)
        most = None if partitions_count else 60
        question = FingerprintQuestion(keys, np.array(partition_ids, np.int32), partitions_count, most)
        answer = fingerprint_document(fingerprint(question, Budget()))
        text, pairs = answer["conclusion"], {*zip(keys, partition_ids, strict=True)}
        case = (seed, ways, partitions_count, text)
        named_writers = {(each["partitioners"] or [""])[0] for each in answer["writers"]}
        is_certain = answer["verdict"] in ("identified", "mixture")
        silent += not is_certain
        if is_certain:
            assert named_writers <= {writer for writer, _ in ways}, case
            assert {each["partitions_count"] for each in answer["writers"]} <= {n for _, n in ways} | {partitions_count}, case
            assert answer["key_transformation"] is None, case
        if m := re.search(r"The topic probably grew from ([\d to]+?)( or more)?\.", text):
            grown = [int(n) for n in m[1].split(" to ")]
            assert len({n for writer, n in ways if writer}) > 1, case
            assert grown == sorted(grown), case
            assert {*grown[: -1 if m[2] else None]} <= {n for _, n in ways}, case
        if m := re.search(
            rf"explains (?:all {NUMBER}|{NUMBER} of {NUMBER}) different pairs: {NUMBER} with (\d+) partitions"
            rf"(?: \({NUMBER} of them only so\))?, (.*?)\. The",
            text,
        ):
            writer, left = WRITERS[answer["writers"][0]["partitioners"][0]], set(pairs)
            total = int((m[1] or m[2]).replace(",", ""))
            parts = [(int(m[4].replace(",", "")), int(m[5]))]
            parts += [(int(count.replace(",", "")), int(n)) for count, n in re.findall(rf"{NUMBER} with (\d+)", m[7])]
            only = [
                (key, p) for key, p in pairs if writer(key, parts[0][1]) == p and all(writer(key, n) != p for _, n in parts[1:])
            ]
            assert not m[6] or int(m[6].replace(",", "")) == len(only), case
            for count, n in parts:
                explained = {(key, p) for key, p in left if writer(key, n) == p}
                assert len(explained) == count, case
                left -= explained
            assert len(pairs) - len(left) == total, case
            assert (len(left) == 0) == (m[1] is not None), case
        if m := re.search(r"with (\d+) partitions? explains all of (\d+) different pairs", text):
            writer = WRITERS[answer["writers"][0]["partitioners"][0]]
            assert all(writer(key, int(m[1])) == p for key, p in pairs), case
            assert int(m[2]) == len(pairs), case
        if m := re.search(r"(?<!of )\b([\d,]+) (?:is|are) left over", text):
            assert int(m[1].replace(",", "")) == answer["unexplained"]["pairs"], case
            assert "for example" in text, case
    assert silent < 12, "most are answered"
