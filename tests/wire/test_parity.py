"""Kafka's own readers beside ours, on thousands of altered captures: the same fields, or the same exception and message.

And its formatters, on those that are records: the same lines. So do the deprecated ones of 3.9.
"""

from __future__ import annotations

import base64
import json
import random
import struct
import subprocess

import pytest

from service.api.decodings import document
from service.core.budget import Budget
from service.decisions.decodings import DecodingQuestion, answer
from service.wire.coordinator_records import read_group_record, read_share_group_state_record
from service.wire.errors import Unreadable
from service.wire.formatters import (
    OF_2_8,
    OF_GROUP_RECORDS,
    OF_SHARE_GROUP_STATE,
    SINCE_3_4,
    instead_of,
    lines,
    scala_lines_of_group_record,
)
from tests.support.captures import Capture, captures
from tests.support.jvm import SCALA_FORMATTERS_JARS
from tests.support.parity import command, coordinator_jars
from tests.wire.test_altered_bytes import LENGTHS_THAT_LIE

RECORDS = {"group_record": read_group_record, "share_group_state_record": read_share_group_state_record}
ODD_TEXT = (b"\xed\xa0\x80", b"\xed\xa0", b"\xf4\x90\x80\x80", b"\xc3(", b"\xf0\x9f\x98", b"\xff")

TAGGED = Capture(
    "group_record",
    b"",
    key=struct.pack(">hh7s", 17, 7, b"streams"),
    value=struct.pack(">hiqbbbibbibbi", 0, 5, 9, 3, 0, 4, 3, 2, 4, 3, 3, 4, -2),
)
"""STREAMS_GROUP_METADATA with the tagged fields of 4.4.0, which no capture has."""


def altered(chance, data):
    """Flipped, cut off, cut out, overwritten by odd lengths and odd text, up to three times; or as it was."""
    data = bytearray(data)
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(data) + 1)
        odd = chance.choice(LENGTHS_THAT_LIE + ODD_TEXT)
        match chance.randrange(6):
            case 0 if at < len(data):
                data[at] ^= 1 << chance.randrange(8)
            case 1:
                del data[at : at + chance.randrange(1, 20)]
            case 2:
                del data[at:]
            case 3:
                data[at : at + len(odd)] = odd
            case 4:
                data[at:at] = odd
            case _:
                data[at:at] = chance.randbytes(chance.randrange(8))
    return bytes(data)


def questions(seed, count):
    chance = random.Random(seed)
    known = [capture for capture in captures() if not capture.kind.endswith("user_data")]
    states = [capture for capture in known if capture.kind == "share_group_state_record"]
    for _ in range(count):
        found = chance.choice(states if chance.random() < 0.15 else known)
        if found.kind in RECORDS:
            key = altered(chance, found.key) if chance.random() < 0.3 else found.key
            yield found._replace(key=key, value=None if found.value is None else altered(chance, found.value))
        else:
            yield found._replace(data=altered(chance, found.data))


def line(capture):
    parts = (capture.key, capture.value) if capture.kind in RECORDS else (capture.data,)
    return ",".join([capture.kind, *("null" if part is None else base64.b64encode(part).decode() for part in parts)])


def of_record(capture):
    group = capture.kind == "group_record"
    read, formatters = RECORDS[capture.kind], OF_GROUP_RECORDS if group else OF_SHARE_GROUP_STATE
    try:
        record = read(capture.key, capture.value)
    except Unreadable as error:
        shown = {name: without_name(printed) for name, printed in instead_of(error, formatters).items()}
        return {"exception": error.exception, "message": error.message, **shown}
    return {"key": record.key, "value": record.value, **lines(record, formatters)}


def without_name(printed):
    """Kafka has no name for its exceptions beside their class."""
    return printed if isinstance(printed, str) else {name: printed[name] for name in ("exception", "message")}


def ours(capture):
    try:
        if capture.kind in RECORDS:
            return of_record(capture)
        budget = Budget()
        decoded = document(answer(DecodingQuestion(capture.kind, "4.3.1", capture.data), budget))["decoded"]
    except Unreadable as error:
        return {"exception": error.exception, "message": error.message}
    return json.loads(json.dumps(decoded))


def answers_of(program, jars, questions):
    """One line for each."""
    text = "".join(f"{question}\n" for question in questions)
    asked = command(program, *jars)
    done = subprocess.run(asked, input=text.encode(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return done.stdout.decode().splitlines()


def reader_jars(release):
    """The artifacts that read and print records."""
    return (*coordinator_jars(release), *(f"org.apache.kafka:kafka-{part}:{release}" for part in ("share-coordinator", "tools")))


def test_what_4_4_0_adds_is_read():
    (text,) = answers_of("RecordReader.java", reader_jars("4.4.0"), [line(TAGGED)])
    assert json.dumps(of_record(TAGGED)) == json.dumps(json.loads(text))
    assert of_record(TAGGED)["value"]["failedDescriptionTopologyEpoch"] == -2


@pytest.mark.slow
def test_thousands_of_altered_captures_are_read_as_kafka_reads_them():
    captures = list(questions(seed=1, count=4_000))
    answers = answers_of("RecordReader.java", reader_jars("4.3.1"), map(line, captures))
    for capture, text in zip(captures, answers, strict=True):
        expected, answered = json.loads(text), ours(capture)
        assert answered == expected, line(capture)
        if "exception" not in expected:  # the order of the fields as well
            assert json.dumps(answered) == json.dumps(expected)
    assert sum("exception" in text for text in answers) > 1200


@pytest.mark.slow
@pytest.mark.parametrize("release", SCALA_FORMATTERS_JARS)
def test_deprecated_formatters_print_thousands_of_altered_records_alike(release):
    captures = [capture for capture in questions(seed=2, count=2_400) if capture.kind == "group_record"]
    answers = answers_of(
        "ScalaFormatters.java", SCALA_FORMATTERS_JARS[release], (line(capture).partition(",")[2] for capture in captures)
    )
    for capture, text in zip(captures, answers, strict=True):
        ours = scala_lines_of_group_record(capture.key, capture.value, OF_2_8 if release == "2.8.2" else SINCE_3_4)
        shown = {name: without_name(printed) for name, printed in ours.items()}
        assert shown == json.loads(text), line(capture)
    assert sum("::" in text for text in answers) > 160
