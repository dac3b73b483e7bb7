"""``python -m tests.support.one_consumer PROPERTIES TOPICS``: one librdkafka consumer, to be killed or told to close.

PROPERTIES and TOPICS are JSON. A process that is killed sends nothing more, which no consumer in a thread can imitate. It takes
and prints the lines that ``OneConsumer.java`` does.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from typing import Any

from confluent_kafka import Consumer


def main() -> None:
    """Poll until "close", or for ever."""
    consumer = Consumer(json.loads(sys.argv[1]))
    listener = {f"on_{what}": _told(what) for what in ("assign", "revoke", "lost")}
    consumer.subscribe(json.loads(sys.argv[2]), **listener)
    commands: queue.SimpleQueue[list[str]] = queue.SimpleQueue()
    threading.Thread(target=lambda: [commands.put(line.split()) for line in sys.stdin], daemon=True).start()
    shown = ""
    while True:
        consumer.poll(0.05)
        if (member_id := consumer.memberid() or "") != shown:
            shown = member_id
            _say("member", member_id)
        if commands.empty():
            continue
        match commands.get():
            case ["pause", milliseconds]:
                time.sleep(int(milliseconds) / 1000)
            case ["subscribe", names]:
                consumer.subscribe(names.split(","), **listener)
            case ["close"]:
                consumer.close()
                return


def _told(what: str) -> Any:
    word = {"assign": "assigned", "revoke": "revoked", "lost": "lost"}[what]
    return lambda _, partitions: _say(word, " ".join(sorted(f"{one.topic}-{one.partition}" for one in partitions)))


def _say(what: str, whom: str) -> None:
    sys.stdout.write(f"{round(time.time() * 1000)} {what} {whom}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
