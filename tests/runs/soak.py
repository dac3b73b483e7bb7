"""``python -m tests.runs.soak [requests]``: 100,000 mixed requests to a real server beside hostile clients.

Four honest clients send golden vectors of every kind, large bodies, gzip and Arrow, CSV and explanations, simulations, and
between them invalid requests: malformed, duplicated, deep, extreme, cut half way, large ones with wrong tokens. Every answer is
compared with the first one to the same request, and none may be lost. Meanwhile other clients read slowly, send slowly, send
endless heads and tiny chunks, or nothing.
"""

from __future__ import annotations

import gzip
import http.client
import json
import random
import socket
import sys
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pyarrow as pa

from service.http.auth import new_token
from tests.support.golden import lines
from tests.support.hostile import BEHAVIOURS, hostile
from tests.support.serving import Server, serving

CLIENTS = 4
HOSTILE = 20
"""Connections of each hostile behaviour."""

SETTLED = 0.2
"""The part of the run after which memory has to be flat: by then every thread has met the largest questions."""

VECTORS = {
    "/v1/partitions": ("partitions/java", "partitions/librdkafka", "partitions/sarama", "partitions/streams"),
    "/v1/coordinators": ("partitions/coordinators",),
    "/v1/group-assignments": ("groups/classic-range", "groups/classic-sticky", "groups/consumer-uniform", "groups/share-simple"),
    "/v1/replica-placements": ("placement/striped", "placement/adminutils"),
}


EXTREMES = (
    *(("/v1/partitions", f'{{"partitions_count": {count}, "keys": ["a"]}}') for count in (0, -1, 2**31 - 1, 2**31, 2**63, 2**64)),
    ("/v1/partitions", '{"partitions_count": 12, "keys": []}'),
    ("/v1/partitions", '{"partitions_count": 12, "keys": ["\\ud800", "\\u0000"]}'),
    ("/v1/group-assignments", '{"assignor": "range", "topics": [], "members": []}'),
    ("/v1/replica-placements", '{"placer": "striped", "partitions_count": 2147483647, "replication_factor": 1, "brokers": []}'),
)
"""Numbers at the edges of 32 and 64 bits, half a surrogate pair, nothing at all."""

SIMULATIONS = tuple(
    {
        "topics": [{"topic_name": "t", "partitions_count": 6}],
        "members": [{"member_id": "m"}],
        "events": [{"at_ms": 1_000, "type": "scales", "members_count": count}],
    }
    for count in (3, 5_000, 20_000)
)
"""Short ones and long ones: the longest takes about half a second."""

RESTARTS = {
    **SIMULATIONS[0],
    "events": [{"at_ms": 0, "type": "scales", "members_count": 500}]
    + [{"at_ms": 60_000, "type": "rolling_restart", "down_ms": 5_000, "pause_ms": 10_000}] * 9_999,
}
"""Refused before it is simulated: a kilobyte of gzip that would take minutes."""


@dataclass(frozen=True)
class Question:
    """A request, and the status that it is answered with.

    cut : bytes of it that are sent before the connection is closed; 0: all
    taken : bytes of the answer that are received before it is closed; 0: all
    """

    method: str
    path: str
    body: bytes = b""
    status: tuple[int, ...] = (200,)
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)
    cut: int = 0
    taken: int = 0


@dataclass
class Report:
    """What came of a run."""

    requests: int = 0
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)
    """Seconds that each request took."""
    resident: list[int] = field(default_factory=list)
    """Bytes that the workers held, taken about every hundredth part of the run."""

    def percentile(self, percent: int) -> float:
        """A percentile of the latencies."""
        return sorted(self.latencies)[len(self.latencies) * percent // 100]

    def growth(self) -> float:
        """The mean of the last fifth over the mean of the fifth that begins when memory had settled."""
        count = len(self.resident)
        first, last = self.resident[int(SETTLED * count) : int((SETTLED + 0.2) * count)], self.resident[int(0.8 * count) :]
        return (sum(last) / len(last)) / (sum(first) / len(first))


def questions() -> list[Question]:
    """The mix; what is large is there once, the rest many times."""
    found = [
        Question("POST", path, json.dumps(case["request"]).encode(), (200, 422))
        for path, names in VECTORS.items()
        for name in names
        for case in islice(lines(name), 40)
    ]
    keys = [f"key-{i}" for i in range(50_000)]
    large = json.dumps({"partitions_count": 12, "keys": keys}).encode()
    small = json.dumps({"partitions_count": 12, "keys": keys[:100]}).encode()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([("key", pa.string())])) as stream:
        stream.write_table(pa.table({"key": keys}))
    brokers = [{"broker_id": broker} for broker in range(30)]
    streamed = json.dumps({"partitions_count": 250_000, "replication_factor": 1, "brokers": brokers}).encode()
    json_type = ("Content-Type", "application/json")
    packed = (json_type, ("Content-Encoding", "gzip"))
    arrow = (("Content-Type", "application/vnd.apache.arrow.stream"),)
    odd = [
        Question("POST", "/v1/partitions", large),
        Question("POST", "/v1/partitions?partitions_count=12", sink.getvalue().to_pybytes(), headers=arrow),
        Question("POST", "/v1/partitions", gzip.compress(large), headers=packed),
        Question("POST", "/v1/partitions", large, cut=100_000),
        *(Question("GET", f"/v1/partitions?key=order-{i}&partitions_count=12") for i in range(40)),
        *(Question("POST", "/v1/partitions?explain=true", small) for _ in range(5)),
        *(Question("POST", "/v1/partitions", small, headers=(json_type, ("Accept", "text/csv"))) for _ in range(5)),
        *(Question("POST", "/v1/partitions", small, cut=400) for _ in range(5)),
        *(
            Question("POST", "/v1/partitions", body, (400, 422))
            for body in (b"{", b"[" * 9999, b'{"keys":[],"keys":[]}', b"\xff")
        ),
        *(
            Question("POST", "/v1/partitions", '{"é":[]}'.replace("[]", "[" * 999).encode(encoding), (400,))
            for encoding in ("utf-16", "utf-16-le", "utf-32")
        ),
        Question("POST", "/v1/partitions", gzip.compress(('["é"' + ",[]" * 2**20).encode("utf-16")), (400,), packed),
        Question("POST", "/v1/partitions?partitions_count=12", sink.getvalue().to_pybytes()[:-5_000], (400,), arrow),
        Question("GET", "/v1/partitions?key=%FF&partitions_count=12", status=(400,)),
        *(Question("GET", path, status=(404,)) for path in ("//metrics", "/%6detrics", "/metrics/", "/v1%2Fpartitions")),
        Question("POST", "/v1/replica-placements", streamed),
        *(Question("POST", "/v1/replica-placements", streamed, taken=size) for size in (1, 2**22)),
        Question("POST", "/v1/group-rebalances", gzip.compress(json.dumps(RESTARTS).encode()), (422,), packed),
        Question("POST", "/v1/partitions", b"{}", (415,), headers=(json_type, ("Content-Encoding", "br"))),
        Question(
            "POST", "/v1/partitions", gzip.compress(b"[" + b"0," * 2**20), (400, 422), (json_type, ("Content-Encoding", "gzip"))
        ),
        *(Question("POST", path, body.encode(), (200, 400, 413, 422)) for path, body in EXTREMES),
        *(
            Question("POST", "/v1/partitions", large, (200, 401), (json_type, ("Authorization", f"Bearer wrong-{i}")))
            for i in range(8)
        ),
        *(Question("POST", "/v1/group-rebalances", json.dumps(body).encode(), (200, 413, 422, 503)) for body in SIMULATIONS),
        Question("GET", "/v1/nowhere", status=(404,)),
        Question("DELETE", "/v1/partitions", status=(405,)),
        Question("GET", "/healthz"),
        Question("GET", "/v1/partitioners"),
        Question("GET", "/openapi.yaml"),
    ]
    return found + odd


def soak(server: Server, count: int, seed: int = 0, token: str = "") -> Report:
    """Ask ``count`` questions of the mix beside hostile clients, in an order that the seed draws.

    token : what questions have that have no other; "" where the server checks none
    """
    report = Report()
    bodies = questions()
    firsts: dict[Question, tuple[int, bytes]] = {}
    lock = threading.Lock()
    start = time.monotonic()

    def work(number: int) -> None:
        draw = random.Random(f"{seed}-{number}")
        client = http.client.HTTPConnection(*_address(server), timeout=30)
        while True:
            with lock:
                if report.requests >= count:
                    break
                report.requests += 1
                if report.requests % max(1, count // 100) == 0:
                    report.resident.append(resident(server))
            question = draw.choice(bodies)
            begun = time.monotonic()
            goes = question.cut or question.taken
            fault = _cut(server, question, token) if goes else _ask(client, question, firsts, token)
            report.latencies.append(time.monotonic() - begun)
            if fault:
                report.faults.append(f"{question.method} {question.path}: {fault}")
        client.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(CLIENTS)]
    with ExitStack() as stack:
        for behaviour in BEHAVIOURS:
            stack.enter_context(hostile(server, behaviour, HOSTILE))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    report.seconds = time.monotonic() - start
    return report


def _address(server: Server) -> tuple[str, int]:
    host, _, port = server.url.removeprefix("http://").partition(":")
    return host, int(port)


def _ask(client: http.client.HTTPConnection, question: Question, firsts: dict[Question, Any], token: str) -> str:
    """What was wrong with the answer; "" for nothing."""
    headers = {"Authorization": f"Bearer {token}", **dict(question.headers), "X-Request-ID": "soak"}
    try:
        client.request(question.method, question.path, question.body or None, headers)
        response = client.getresponse()
        answer = response.status, response.read()
    except (http.client.HTTPException, OSError) as error:
        client.close()
        return repr(error)
    if answer[0] not in question.status:
        return f"{answer[0]} {answer[1][:200]!r}"
    return "" if firsts.setdefault(question, answer) == answer else "another answer than before"


def _cut(server: Server, question: Question, token: str) -> str:
    """Send a part of the request, or receive a part of the answer, and go."""
    head = f"{question.method} {question.path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(question.body)}\r\n"
    head += f"Authorization: Bearer {token}\r\n" if question.taken else ""
    head += "".join(f"{name}: {value}\r\n" for name, value in question.headers)
    with socket.create_connection(_address(server), timeout=30) as sock:
        sock.sendall(head.encode() + b"\r\n" + question.body[: question.cut or len(question.body)])
        if question.taken:
            sock.recv(question.taken, socket.MSG_WAITALL)
    return ""


def resident(server: Server) -> int:
    """Bytes that the worker processes hold in memory, those that they share counted in each."""
    return sum(int(Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0]) * 1024 for pid in server.workers())


def main() -> None:
    """Run, tell, and fail if there was anything to tell."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with NamedTemporaryFile("w") as tokens:
        token, line = new_token("soak", ("*",))
        tokens.write(line)
        tokens.flush()
        with serving(ALLOCATOR_TOKENS_FILE=tokens.name) as server:
            report = soak(server, count, token=token)
    mebi = [size / 2**20 for size in report.resident]
    told = (
        f"{report.requests} requests in {report.seconds:.0f} s: {report.requests / report.seconds:.0f} a second",
        f"latency: median {report.percentile(50) * 1000:.0f} ms, 99th percentile {report.percentile(99) * 1000:.0f} ms",
        "resident memory of the workers in MiB at 1 %, 20 %, the end, at most: "
        + ", ".join(f"{size:.0f}" for size in (mebi[0], mebi[len(mebi) // 5], mebi[-1], max(mebi))),
        f"growth after it had settled: {report.growth() - 1:+.1%}",
        f"faults: {len(report.faults)}",
    )
    print(*told, *report.faults[:20], sep="\n")  # noqa: T201 - this is the command's output
    sys.exit(bool(report.faults) or report.growth() > 1.05)


if __name__ == "__main__":
    main()
