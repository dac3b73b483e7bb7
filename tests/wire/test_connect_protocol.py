"""What Kafka Connect's workers send and get: Connect's own readers beside ours, on altered captures of its own workers."""

from __future__ import annotations

import base64
from random import Random
from time import process_time

from service.api.decodings import document
from service.conformance.connect import connect_group
from service.core.budget import Budget
from service.core.kafka_versions import LATEST
from service.decisions.decodings import DecodingQuestion, answer
from service.wire.connect_protocol import read_worker_assignment, read_worker_metadata, runs
from service.wire.errors import Unreadable
from tests.support.task_groups import connect_workers
from tests.wire.test_parity import altered


def captures(seeds):
    """(kind, bytes) of what real workers send and get."""
    for seed in seeds:
        for each in connect_workers().ask(connect_group(Random(f"captures-{seed}")))["rounds"]:
            for row in each["assignments"]:
                for kind in ("metadata", "assignment"):
                    yield f"connect_{kind}", base64.b64decode(row[f"{kind}_base64"])


def decoded(kind, data):
    """Our answer, or the exception."""
    try:
        told = document(answer(DecodingQuestion(kind, LATEST, data), Budget()))
    except Unreadable as error:
        return {"exception": error.exception, "message": error.message}
    return {name: told[name] for name in ("version", "decoded")}


def sorted_work(told):
    """Connectors and tasks without their order, which Connect's program does not tell."""
    if isinstance(told, dict):
        rows = {name: sorted_work(part) for name, part in told.items()}
        for name in ("task_ids", "connectors", "revoked_connectors"):
            if name in rows:
                rows[name] = sorted(set(rows[name]))
        return rows
    if isinstance(told, list) and told and isinstance(told[0], dict):
        return sorted(map(sorted_work, told), key=lambda row: row["connector_name"])
    return told


def test_altered_captures_are_read_as_connect_reads_them():
    chance, faults = Random(7), 0
    known = list(captures(range(12)))
    for _ in range(3_000):
        kind, data = chance.choice(known)
        data = altered(chance, data)
        theirs = connect_workers().ask({"kind": kind, "bytes_base64": base64.b64encode(data).decode()})
        assert sorted_work(decoded(kind, data)) == sorted_work(theirs), (kind, data.hex())
        faults += "exception" in theirs
    assert 500 < faults < 2_500


def test_fields_after_the_config_offset_may_be_absent():
    head = b"\0\2\0\0\0\1w\0\4http" + bytes(8)
    assert read_worker_metadata(b"\0\1\0\4http" + bytes(8)).allocation is None
    assert read_worker_metadata(b"\0\1\0\4http" + bytes(8) + b"\xff\xff\xff\xff").allocation is None
    short = read_worker_assignment(head)
    assert (short.assigned, short.revoked, short.delay_ms) == ({}, {}, 0)
    assert read_worker_assignment(head + b"\xff\xff\xff\xff" * 2 + b"\0\0\0\7").delay_ms == 7


def test_a_connector_that_is_listed_many_times_takes_linear_time():
    listed, count = b"\0\1c" + b"\0\0\0\1" + bytes(4), 100_000
    started = process_time()
    told = read_worker_assignment(b"\0\1\0\0\0\1w\0\4http" + bytes(8) + count.to_bytes(4) + listed * count)
    assert told.assigned == {"c": (0,) * count}
    assert process_time() - started < 5  # 0.2 s; the square of it was 20 s


def test_a_worker_runs_what_is_new_and_then_what_it_keeps():
    def message(assigned, revoked):
        rows = [
            len(each).to_bytes(4) + b"".join(b"\0\1" + name + len(ids).to_bytes(4) + b"".join(ids) for name, ids in each.items())
            for each in (assigned, revoked)
        ]
        return b"\0\1\0\0\0\1w\0\4http" + bytes(8) + b"".join(rows) + bytes(4)

    connector, first, second = b"\xff\xff\xff\xff", b"\0\0\0\0", b"\0\0\0\1"
    held = message({b"a": [connector, first], b"b": [connector]}, {})
    sent = read_worker_metadata(b"\0\1\0\4http" + bytes(8) + len(held).to_bytes(4) + held)
    told = read_worker_assignment(message({b"c": [first], b"a": [second]}, {b"a": [connector], b"b": [connector]}))
    assert runs("sessioned", sent, told) == {"c": {0: None}, "a": {1: None, 0: None}}
    assert runs("default", sent, told) == {"c": {0: None}, "a": {1: None}}
