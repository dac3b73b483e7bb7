"""The look at a JSON text before it is parsed, beside its twin."""

from __future__ import annotations

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.http.json.limits import LONGEST_KEY, JsonRejected, scanned
from tests.reference import json_limits as twin

ODD = st.sampled_from(
    ["a", "b", "\\u0061", "\\n", "\\u000a", '\\"', "\\\\", "\\/", "/", "é", "\\u00e9", "\\ud800", "😀", "\\ud83d\\ude00"]
)
STRINGS = st.lists(ODD, max_size=3).map(lambda parts: '"' + "".join(parts) + '"')
NUMBERS = st.sampled_from(["0", "-1", "12", "1.5", "1e10", "-2E-3"])


@st.composite
def bracketed(draw, inner):
    blank = draw(st.sampled_from(["", " ", "\n\t"]))
    if draw(st.booleans()):
        return "[" + draw(st.sampled_from([f"{blank},", ",\n"])).join(draw(st.lists(inner, max_size=4))) + blank + "]"
    members = draw(st.lists(st.tuples(STRINGS, inner), max_size=4))
    return "{" + f",{blank}".join(f"{key}{blank}:{blank}{value}" for key, value in members) + "}"


TEXTS = st.recursive(STRINGS | NUMBERS | st.sampled_from(["true", "false", "null"]), bracketed, max_leaves=30)


def found(text: bytes):
    try:
        return "fine", scanned(text)[0], None
    except JsonRejected as rejected:
        verdicts = {"Duplicate": "twice", "An object": "too many", "Brackets": "too deep"}
        return next(verdict for words, verdict in verdicts.items() if str(rejected).startswith(words)), None, rejected.field


@given(TEXTS)
def test_the_kernel_finds_what_its_twin_finds(text):
    verdict, size, key = twin.look(text.encode())
    seen, seen_size, field = found(text.encode())
    assert seen == verdict
    if verdict == "fine":
        assert seen_size == size
    if verdict == "twice" and key.isalnum():
        assert field[-1] == key.decode()


@given(TEXTS)
def test_elements_that_end_their_line_are_counted(text):
    if found(text.encode())[0] == "fine":
        assert scanned(text.encode())[1] == twin.line_ends(text.encode())


@given(st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_what_python_writes_has_no_member_twice(value):
    assert found(json.dumps(value).encode())[0] == "fine"
    assert found(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))[0] == "fine"


@given(st.binary(max_size=60) | st.text(string.printable + '"\\{}[],:').map(str.encode))
def test_any_bytes_are_looked_at_without_harm(text):
    found(text)


def test_what_is_no_name_is_quoted_in_part():
    """Each of 32 levels had the rest of the text for its name: 1 MB took 5 s."""
    for text in (b"{," * 500_000, b'{"' + b"a" * 10**6 + b'":' + b"[" * 40):
        with pytest.raises(JsonRejected) as caught:
            scanned(text)
        assert all(part == 0 or len(part) == LONGEST_KEY for part in caught.value.field)


def test_a_long_number_takes_more_memory_than_a_short_one():
    """A group with one of 20 MB took 100 MB, and 30 were reserved: Arrow reads numbers as texts, and the text twice."""
    assert scanned(b"-" + b"9" * 17)[0] == 32
    assert scanned(b"9" * 10**6)[0] > 39 * 10**5


@pytest.mark.parametrize("depth", [31, 32, 33, 1000])
def test_the_largest_nesting_is_the_documented_one(depth):
    for left, right in ("[]", ('{"a":', "}")):
        assert found((left * depth + "1" + right * depth).encode())[0] == ("fine" if depth <= 32 else "too deep")


def test_many_members_are_looked_at_in_no_time():
    """Beyond 64 members keys are no longer compared: to compare all of them with each other is how one would be attacked."""
    text = json.dumps({f"key-{i}": i for i in range(999)}).encode()
    assert found(text)[0] == "fine"
    assert found(b'{"key-0":0,' + text[1:])[0] == "twice"


@pytest.mark.parametrize("count", [1_000, 1_001, 200_000])
def test_an_object_has_as_many_members_as_the_limit(count):
    """Each of 1,500,000 unknown fields became an error: a body of 18 MB took 24 s and 1.1 GB."""
    text = json.dumps([0, {f"key-{i}": i for i in range(count)}]).encode()
    verdict, size, field = found(text)
    assert (verdict, size) == twin.look(text)[:2] if count == 1_000 else ("too many", None)
    assert field == (None if count == 1_000 else (1,))
