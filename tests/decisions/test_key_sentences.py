"""What is said of partitioners (which agree, which topics can be joined, who wrote records), by placing keys with each."""

from __future__ import annotations

import json
import random
import re
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pyarrow as pa

from service.api import co_partitionings, comparisons
from service.core.budget import Budget
from service.core.partitioners import PARTITIONERS
from service.pipeline.analyses.mismatch.outcome import mismatch
from service.pipeline.analyses.results import LocalRecords
from tests.support.questions import ask

if TYPE_CHECKING:
    from service.http.forms import Form

CLIENTS = [
    *("java", "java:sticky", "librdkafka:consistent_random", "librdkafka:murmur2_random", "librdkafka:fnv1a_random"),
    *("sarama", "sarama:reference", "kafkajs:legacy", "kafka-go:crc32", "aiokafka", "ruby-kafka", "franz-go:kafka-fnv1a"),
    *("platformatic", "event-hubs", "event-hubs:java-sdk", "sinek"),
]


def decided(form: Form[Any, Any], body: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(form.json(form.decide(form.question(body), Budget())))
    return answer


@cache
def placed(partitioner: str, count: int, keys: tuple[Any, ...], key_format: str = "string") -> list[int]:
    """Where the partitioner puts each key."""
    question = {"partitioner": partitioner, "partitions_count": count, "keys": list(keys), "key_format": key_format}
    partitions: list[int] = ask(question).partitions.tolist()
    return partitions


def test_how_often_partitioners_agree() -> None:
    """Of the records that both hash: not those without a key, nor with an empty one where that is none."""
    for seed in range(40):
        draw = random.Random(seed)
        count, names = draw.choice([1, 2, 6, 12]), draw.sample(CLIENTS, draw.choice([2, 2, 3]))
        keys = [draw.choice([f"k{draw.randrange(50)}", None, "", "é", f"order-{draw.randrange(10**6)}"]) for _ in range(40)]
        text = decided(comparisons.FORM, {"partitions_count": count, "keys": keys, "partitioners": names})["conclusion"]
        both = [key for key in keys if key and not (key == "é" and "sinek" in names)]
        if "no two of them" in text:
            assert len({tuple(placed(name, count, tuple(both))) for name in names}) == 1, (seed, text)
        if found := re.match(r"(\S+) and (\S+) agree on ([\d.]+)% of the (\d+) records? compared(?:, of (\d+))?;", text):
            known = [PARTITIONERS[name] for name in found.groups()[:2]]
            hashed = [k for k in keys if k is not None and (k or all(each.empty_key == "hashed" for each in known))]
            one, other = (placed(each.name, count, tuple(hashed)) for each in known)
            agree = sum(a == b for a, b in zip(one, other, strict=True)) / len(hashed)
            assert abs(float(found[3]) / 100 - agree) < 1e-4, (seed, text, agree)
            assert (int(found[4]), int(found[5] or found[4])) == (len(hashed), len(keys)), (seed, text)


def test_which_topics_can_be_joined() -> None:
    """Keys of several formats, also of characters beyond ASCII, placed by both; a share that is said is that of the keys."""
    draw = random.Random(46)
    keys: dict[str, tuple[Any, ...]] = {
        "string": tuple(f"customer-{draw.randrange(10**6)}" for _ in range(2_000)),
        "long": tuple(draw.randrange(-(2**62), 2**62) for _ in range(2_000)),
        "uuid": tuple(str(UUID(int=draw.getrandbits(128), version=4)) for _ in range(2_000)),
    }
    others = ("é", "日本", "\N{GRINNING FACE}")
    shares = 0
    for _ in range(60):
        first, second = draw.sample(CLIENTS, 2)
        key_format = draw.choice(
            [each for each in keys if all(each in PARTITIONERS[n].encoding.formats for n in (first, second))]
        )
        sides = [(name, draw.choice([1, 6, 8, 12])) for name in (first, second)]
        topics = [{"partitioner": name, "partitions_count": count, "key_format": key_format} for name, count in sides]
        answer = decided(co_partitionings.FORM, {"topics": topics})
        one, other = (placed(name, count, keys[key_format], key_format) for name, count in sides)
        meet = sum(a == b for a, b in zip(one, other, strict=True)) / len(one)
        assert answer["joinable"] <= (meet == 1), topics
        assert abs(answer["meeting_share"] - meet) < 0.06, (topics, meet)
        if answer["joinable"] and key_format == "string":
            warned = any("other characters than ASCII" in note for note in answer["notes"])
            assert warned or placed(*sides[0], others) == placed(*sides[1], others), topics
        assert not any("empty key" in note for note in answer["notes"]) or (
            key_format == "string" and sides[0][1] + sides[1][1] > 2
        )
        for difference in answer["differences"]:
            if found := re.search(r"agree on ([\d.]+)% of random keys", difference["detail"]):
                assert abs(float(found[1]) / 100 - meet) < 0.06, topics
                shares += 1
    assert shares


def test_who_wrote_records() -> None:
    """One writer or two, with one count or two, of few keys or many, some of a record without one."""
    said = set()
    for seed in range(20):
        draw = random.Random(seed)
        counts = draw.choice([[1], [6], [12], [12], [6, 12]])
        ways = [(name, count) for name in draw.sample(CLIENTS[:8], draw.choice([1, 1, 2])) for count in counts]
        keys = [f"key-{draw.randrange(10**6)}" for _ in range(draw.choice([1, 2, 100, 200]))]
        chosen = [draw.choice(ways) for _ in keys]
        where = [placed(*way, (key,))[0] for key, way in zip(keys, chosen, strict=True)]
        keyless = draw.choice([0, 0, 50])
        table = pa.table({"key": [*keys, *[None] * keyless], "partition": pa.array([*where, *[0] * keyless], pa.int32())})
        records = LocalRecords("records", lambda _, table=table: iter(table.to_batches()))
        outcome = mismatch(
            records, key_column="key", key_format="string", partition_column="partition", partitions_count=counts[-1],
            expected="java", partitioners=(),
        )  # fmt: skip
        text, summary = outcome.report.verdict, outcome.summary
        java = placed("java", counts[-1], tuple(keys))
        assert summary["misplaced"] == sum(a != b for a, b in zip(java, where, strict=True)), seed
        for part in summary["mixture"]:
            writer = placed(part["partitioners"][0], part["partitions_count"], tuple(keys))
            assert any(writer == placed(*way, tuple(keys)) for way in ways), (seed, text)
        if found := re.search(r"grew from (.*) partitions", text):
            assert found[1] == " to ".join(map(str, counts)), (seed, text)
        kinds = {
            "one partition": counts == [1],
            "too few different pairs": len(keys) <= 2,
            "written by": len(keys) > 2 and not keyless,
            f"of {len(keys)} records with a key (50 have none)": len(keys) > 2 and keyless,
        }
        kind = next((kind for kind in kinds if kind in text.lower()), text)
        assert kinds[kind], (seed, text)
        assert "Nor does" not in text
        said.add(kind.partition(" ")[0])
    assert said == {"one", "too", "written", "of"}
