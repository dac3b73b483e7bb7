"""What a plan between log directories says, against its moves, on small random brokers."""

from __future__ import annotations

import random
import re
from typing import Any

PATH = "/v1/log-dir-plans"


def drawn(seed: int) -> dict[str, Any]:
    """Brokers with two or three directories, some to be emptied, topics excluded or without a placement."""
    draw = random.Random(seed)
    brokers = []
    for broker_id in range(1, draw.randint(2, 3)):
        dirs: list[dict[str, Any]] = [{"log_dir": f"/{name}", "replicas": []} for name in "abc"[: draw.randint(2, 3)]]
        for topic in ("t", "u"):
            for partition_id in range(draw.randint(0, 4)):
                replicas = draw.choice(dirs)["replicas"]
                row = next((row for row in replicas if row["topic_name"] == topic), None)
                if row is None:
                    row = {"topic_name": topic, "partition_ids": [], "partition_bytes": []}
                    replicas.append(row)
                row["partition_ids"].append(partition_id)
                row["partition_bytes"].append(draw.randint(0, 9))
        if draw.random() < 0.6:
            dirs[0]["draining"] = True
        brokers.append({"broker_id": broker_id, "log_dirs": dirs})
    ids = [broker["broker_id"] for broker in brokers]
    named = ("t", "u") if draw.random() < 0.7 else ("t",)
    topics = [{"topic_name": name, "placements": [{"partition_id": i, "replicas": ids} for i in range(4)]} for name in named]
    more = draw.choice([{}, {}, {"excluded_topics": ["t"]}, {"objective": "even"}, {"tolerance": 0.1}])
    return {"brokers": brokers, "topics": topics, **more}


def test_what_sentences_say_is_what_moves(client):
    for seed in range(100):
        body = drawn(seed)
        response = client.post(PATH, json=body)
        assert response.status_code == 200, response.text
        answer = response.json
        text, left = answer["conclusion"], dict[tuple[int, str], int]()
        for broker in body["brokers"]:
            for log_dir in broker["log_dirs"]:
                count = sum(len(row["partition_ids"]) for row in log_dir["replicas"])
                left[broker["broker_id"], log_dir["log_dir"]] = count
        before = dict(left)
        for move in answer["reasons"]:
            left[move["broker_id"], move["from"]] -= 1
            left[move["broker_id"], move["to"]] += 1
        drained = [(b["broker_id"], d["log_dir"]) for b in body["brokers"] for d in b["log_dirs"] if d.get("draining")]
        for broker_id, path in drained:
            kept = re.search(rf"{path} of broker {broker_id} keeps (\d+) replica", text)
            assert (int(kept[1]) if kept else 0) == left[broker_id, path], (seed, text)
        assert answer["complete"] == (not any(left[each] for each in drained) and not answer["outside_tolerance"]), seed
        assert ("Nothing moves" in text) == (not answer["reasons"]), seed
        if counts := re.search(r"with (\d+) moves? of (\d+) bytes|Copies (\d+) bytes with (\d+) move", text):
            moves, copied = (counts[1], counts[2]) if counts[1] else (counts[4], counts[3])
            assert (int(moves), int(copied)) == (len(answer["reasons"]), answer["moves"]["bytes"]), seed
        for path, broker_id in re.findall(r"(/\w) of broker (\d)", text.partition("Empties ")[2].partition(" with ")[0]):
            assert before[int(broker_id), path] > left[int(broker_id), path] == 0, (seed, text)
        assert ("the fewest bytes" in text) <= (answer["moves"]["gap"] == 0 or "above the fewest" in text or "not proven" in text)
