"""``make fuzz``: a million altered captures posted to ``/v1/decodings``, found by coverage (atheris, which is libFuzzer).

Whatever the bytes are, the answer is what they say or a 422 with the place where reading failed; anything else ends the run,
with the input in a file of its own. libFuzzer's flags follow: ``-runs=1000000 -seed=2 -max_total_time=60``.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import atheris

from service.core import budget, model  # noqa: F401 - kernels call them, which are compiled of code without instruments
from service.core.jvm import hashing  # noqa: F401

with atheris.instrument_imports(include=["service.wire", "tests.reference.wire"], exclude=["service.wire.spans"]):
    from tests.support.captures import Capture, captures
    from tests.support.wire_reading import KINDS, RECORDS, check_twin

from service.app import create_app  # which imports the readers, and would do so without instruments

if TYPE_CHECKING:
    from werkzeug.test import TestResponse

CLIENT = create_app().test_client()
NO_VALUE = 0xFFFF


def packed(capture: Capture) -> bytes:
    """A capture as one input: its kind; of a record the length of the value, or NO_VALUE; then the bytes, the value first."""
    head = bytes([KINDS.index(capture.kind)])
    if capture.kind not in RECORDS:
        return head + capture.data
    length = NO_VALUE if capture.value is None else len(capture.value)
    return head + length.to_bytes(2, "big") + (capture.value or b"") + capture.key


def unpacked(data: bytes) -> Capture:
    """The capture of any input."""
    kind, rest = KINDS[data[0] % len(KINDS)] if data else KINDS[0], data[1:]
    if kind not in RECORDS:
        return Capture(kind, rest)
    length, rest = int.from_bytes(rest[:2], "big"), rest[2:]
    if length == NO_VALUE:
        return Capture(kind, b"", rest, None)
    return Capture(kind, b"", rest[length:], rest[:length])


def ask(data: bytes) -> None:
    """Post one input; raises AssertionError if the answer is neither of the two, or the kernel's twin reads something else."""
    capture = unpacked(data)
    check_twin(capture)  # finds the way through the bytes: coverage does not see into the kernel
    texts = {name: base64.b64encode(getattr(capture, name) or b"").decode() for name in ("key", "value", "data")}
    body = {"kind": capture.kind}
    if capture.kind in RECORDS:
        body |= {"key_base64": texts["key"], "value_base64": None if capture.value is None else texts["value"]}
    else:
        body |= {"bytes_base64": texts["data"], "assignor": "sticky"}
    response = CLIENT.post("/v1/decodings", json=body)
    if capture.kind in RECORDS:
        check_bulk(body, response)
    if response.status_code != 200:
        assert response.status_code == 422, response.text
        problem = response.json
        part = problem["errors"][0]["pointer"].removeprefix("/")
        assert 0 <= problem["offset"] <= len(base64.b64decode(body[part])), problem


def check_bulk(body: dict[str, Any], response: TestResponse) -> None:
    """The same record in a list has the same answer; raises AssertionError."""
    record = {name: body.pop(name) for name in ("key_base64", "value_base64")}
    (answer,) = CLIENT.post("/v1/decodings", json={**body, "records": [record]}).json["records"]
    for name, value in answer.items():
        if name not in ("part", "detail"):
            assert response.json[name] == value, answer
    if body["kind"] == "group_record":
        assert CLIENT.post("/v1/decodings", json={"kind": "offsets_topic", "records": [record]}).status_code == 200
    body |= record


def main() -> None:
    """Fuzz, from the golden vectors on."""
    with tempfile.TemporaryDirectory() as corpus:
        for i, capture in enumerate(captures()):
            (Path(corpus) / f"{i}").write_bytes(packed(capture))
        flags = sys.argv[1:] or ["-runs=1000000"]
        atheris.Setup([sys.argv[0], *flags, "-max_len=4096", "-len_control=0", corpus], ask)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
