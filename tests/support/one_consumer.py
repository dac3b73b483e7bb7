"""``python -m tests.support.one_consumer PROPERTIES TOPICS``: one librdkafka consumer, to be killed; it prints its member id.

PROPERTIES and TOPICS are JSON. A process that is killed sends nothing more, which no consumer in a thread can imitate.
"""

from __future__ import annotations

import json
import sys

from confluent_kafka import Consumer


def main() -> None:
    """Poll for ever."""
    consumer = Consumer(json.loads(sys.argv[1]))
    consumer.subscribe(json.loads(sys.argv[2]))
    shown = ""
    while True:
        consumer.poll(0.05)
        if (member_id := consumer.memberid() or "") != shown:
            shown = member_id
            sys.stdout.write(member_id + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
