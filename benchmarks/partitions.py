"""Key → partition."""

from __future__ import annotations

import random
import uuid
from typing import TYPE_CHECKING

import numpy as np
import orjson
import pyarrow as pa

from benchmarks import jvm
from benchmarks.harness import Row, benchmark, seconds
from benchmarks.servers import cpu_seconds_per_request, post, post_seconds, require_wrk, server, serving
from service.core.model import Keys
from service.core.partitioners import PARTITIONERS, Question, allocate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.harness import Sides

JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"
PATH = "/v1/partitions"
JAVA = PARTITIONERS["java"]
KEY_BYTES = (16, 36)


def random_keys(count: int, size: int) -> Keys:
    """Keys like those of the JVM's side: random bytes or, for a size of 36, random UUIDs as text."""
    generator = np.random.default_rng(size)
    data = generator.integers(0, 256, count * size, np.uint8)
    if size == 36:
        letters = np.frombuffer(b"0123456789abcdef", np.uint8)[data & 15].reshape(count, size)
        letters[:, [8, 13, 18, 23]] = ord("-")
        data = letters.reshape(-1)
    return Keys(np.arange(0, (count + 1) * size, size, dtype=np.int32), data)


def order_ids(count: int) -> list[str]:
    """Typical keys: ``order-`` and a UUID."""
    random_ = random.Random(count)
    return [f"order-{uuid.UUID(int=random_.getrandbits(128))}" for _ in range(count)]


@benchmark(
    *(
        Row(
            f"partitions/murmur2-{size}",
            "s",
            0.5,
            f"10 million keys of {size} bytes, one thread ÷ the JVM's murmur2, toPositive, % 64",
        )
        for size in KEY_BYTES
    ),
    rounds=2,
)
def murmur2(count: int = 10_000_000) -> Iterator[Sides]:
    """The ``java`` partitioner on keys in one array; the JVM's keys are in an array of byte[]."""
    jvm.require()
    questions = [Question(64, random_keys(count, size)) for size in KEY_BYTES]
    what = "Utils.toPositive(Utils.murmur2(key)) % 64"

    def ours() -> list[float]:
        return [seconds(allocate, JAVA, question, runs=11) for question in questions]

    def reference() -> list[float]:
        lines = jvm.times("time-placement.sh", "hash", wanted=tuple({"what": what, "key_bytes": size} for size in KEY_BYTES))
        return [line["median_s"] for line in lines]

    yield ours, reference


@benchmark(
    Row("partitions/get", "s", 1.2, "CPU of a GET of one key's partition ÷ of a bare Flask echo, same Gunicorn, by wrk"),
    rounds=11,
)
def get(run_seconds: int = 2) -> Iterator[Sides]:
    """Each server is measured while the other one waits. Requests per second would be those of wrk on the same cores, too.

    The goal allows what the echo does not do: authentication, limits, metrics, validation and a typed answer, 35% for all of it.
    """
    require_wrk()
    query = "key=order-1&partitions_count=12"
    with server("service", "serve") as service, server("benchmarks.echo") as echo:
        yield (
            lambda: [cpu_seconds_per_request(*service, f"{PATH}?{query}", run_seconds)],
            lambda: [cpu_seconds_per_request(*echo, f"/echo?{query}", run_seconds)],
        )


@benchmark(
    Row("partitions/arrow", "s", 1.3, "1 million keys in an Arrow body, over HTTP ÷ the kernel + a bare Flask echo of the body")
)
def arrow(count: int = 1_000_000) -> Iterator[Sides]:
    """The echo sends all keys back, the service four bytes a key."""
    column = pa.array(order_ids(count), pa.string())
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema({"key": pa.string()})) as stream:
        stream.write_batch(pa.record_batch({"key": column}))
    body = sink.getvalue().to_pybytes()
    _, offsets, data = column.buffers()
    question = Question(64, Keys(np.frombuffer(offsets, np.int32), np.frombuffer(data, np.uint8)))
    with serving("service", "serve") as service, serving("benchmarks.echo") as echo:
        yield (
            lambda: [post_seconds(service, f"{PATH}?partitions_count=64", body, ARROW)],
            lambda: [seconds(allocate, JAVA, question) + post_seconds(echo, "/echo", body, ARROW)],
        )


@benchmark(Row("partitions/json", "s", 1.6, "1 million keys in a JSON body, over HTTP ÷ orjson on both bodies"))
def json(count: int = 1_000_000) -> Iterator[Sides]:
    """The reference parses the request and writes the answer in this process, without HTTP and hashing."""
    body = orjson.dumps({"partitioner": "java", "partitions_count": 64, "keys": order_ids(count)})
    with serving("service", "serve") as service:
        answer = orjson.loads(post(service, PATH, body, JSON))
        yield (
            lambda: [post_seconds(service, PATH, body, JSON)],
            lambda: [seconds(orjson.loads, body) + seconds(orjson.dumps, answer)],
        )
