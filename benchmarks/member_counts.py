"""How many members a group needs, for many numbers at once: the whole request."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import orjson
from werkzeug.test import Client

from benchmarks.harness import Row, benchmark, seconds
from service.app import create_app
from service.config import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.harness import Sides

PATH = "/v1/member-count-plans"


def asked(partitions: int, members: int, weights: list[float] | None = None) -> bytes:
    """A body. weights : of the partitions"""
    topic = {"topic_name": "orders", "partitions_count": partitions, "partition_weights": weights}
    ids = [{"member_id": f"consumer-orders-{i}"} for i in range(members)]
    return orjson.dumps({"assignor": "cooperative-sticky", "topics": [topic], "members": ids})


@benchmark(
    Row("member-counts/1000x1000", "s", 1.0, "1,000 partitions × 1,000 numbers of members, with timelines ÷ 1 s"), rounds=3
)
def every_number(partitions: int = 1_000, members: int = 50) -> Iterator[Sides]:
    """Under ``cooperative-sticky`` and ``balanced``."""
    yield from _timed(asked(partitions, members))


@benchmark(
    Row("member-counts/1000x1000-weighted", "s", 1.0, "the same where every partition has a weight of its own ÷ 1 s"), rounds=3
)
def every_number_weighted(partitions: int = 1_000, members: int = 50) -> Iterator[Sides]:
    """Under ``cooperative-sticky`` and ``balanced``, by rates that some partitions have most of."""
    rates = np.random.default_rng(1).pareto(1.2, partitions) * 100
    yield from _timed(asked(partitions, members, rates.round(3).tolist()))


def _timed(body: bytes) -> Iterator[Sides]:
    client = Client(create_app(Settings()))
    yield lambda: [seconds(lambda: client.post(PATH, data=body, content_type="application/json").data, runs=3)], lambda: [1.0]
