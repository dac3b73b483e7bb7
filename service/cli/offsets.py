"""Where a batch of Spark's Kafka source starts and ends, in the JSON of its options: the lag of topics."""

import json
from contextlib import suppress
from typing import Any

import click


def batch_topics(starting: str | None, ending: str | None) -> list[dict[str, Any]]:
    """``topics`` with their ``lag``. Raises UsageError."""
    starts, ends = _offsets("--starting-offsets", starting), _offsets("--ending-offsets", ending)
    if {name: of.keys() for name, of in starts.items()} != {name: of.keys() for name, of in ends.items()}:
        raise click.UsageError("--starting-offsets and --ending-offsets must have the same topics and partitions.")
    for name, of in ends.items():
        missing = next((i for i in range(max(len(of), 1)) if i not in of), None)
        if missing is not None:
            raise click.UsageError(f"--ending-offsets: topic {name!r} lacks partition {missing}.")
    return [
        {
            "topic_name": name,
            "partitions_count": len(of),
            "lag": {
                "committed_offsets": [starts[name][i] for i in range(len(of))],
                "log_end_offsets": [of[i] for i in range(len(of))],
            },
        }
        for name, of in ends.items()
    ]


def _offsets(option: str, text: str | None) -> dict[str, dict[int, int]]:
    """Topic → partition → offset."""
    if text is None:
        raise click.UsageError(f"Missing option '{option}'.")
    with suppress(ValueError, AttributeError, RecursionError):
        offsets = {name: {int(i): offset for i, offset in of.items()} for name, of in json.loads(text).items()}
        if all(type(offset) is int and offset >= 0 for of in offsets.values() for offset in of.values()):
            return offsets
    raise click.UsageError(f'{option}: {text[:60]!r} is not offsets by topic and partition, such as {{"orders":{{"0":23}}}}.')
