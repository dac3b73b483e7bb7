"""What a question may take."""

from __future__ import annotations

import gzip
import json
import time
from io import BytesIO

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.budget import Budget, OutOfTime
from service.core.errors import LimitExceeded
from service.decisions.rows import longest_name, longest_text
from service.http.deciding import request_budget


def test_a_budget_by_default_limits_nothing():
    budget = Budget()
    budget.check("max_keys", 2**62, "keys", "keys")
    budget.reserve(2**62)
    budget.lengthen()
    budget.check_time()


def test_a_limit_names_its_variable_its_field_and_both_figures():
    with pytest.raises(LimitExceeded, match=r"ALLOCATOR_MAX_KEYS") as refused:
        Budget({"max_keys": 10}).check("max_keys", 12, "keys", "records", 3)
    assert refused.value.field == ("records", 3)
    Budget({"max_keys": 12}).check("max_keys", 12, "keys", "keys")


def test_time_is_counted_from_when_the_question_came():
    now = time.perf_counter()
    Budget(started=now, seconds=60).check_time()
    with pytest.raises(OutOfTime, match=r"took 6[12]\.\d s .*ALLOCATOR_MAX_REQUEST_SECONDS is 60 s") as late:
        Budget(started=now - 61, seconds=60).check_time()
    assert late.value.allowed == 60


def test_cpu_is_counted_for_each_kilobyte_that_was_sent():
    limits, now = {"max_cpu_seconds_per_kb": 1}, time.thread_time()
    budget = Budget(limits, cpu_started=now - 1.5, kilobytes=2)
    budget.check_time()
    assert budget.deadline.cpu == now + 0.5
    with pytest.raises(LimitExceeded, match=r"^2 seconds of CPU for each KB .* ALLOCATOR_MAX_CPU_SECONDS_PER_KB = 1\.$"):
        Budget(limits, cpu_started=now - 1.5).check_time()


@pytest.mark.parametrize("chunked", [True, False])
def test_a_kilobyte_is_counted_as_it_was_sent(client, monkeypatch, chunked):
    """Packed, and in chunks or with a length."""
    seen = []

    def budget():
        seen.append(request_budget())
        return seen[-1]

    monkeypatch.setattr("service.http.deciding.request_budget", budget)
    monkeypatch.setattr(client.application.extensions["warm"], "is_set", lambda: True)
    body = gzip.compress(json.dumps({"partitions_count": 3, "keys": [str(i) for i in range(5_000)]}).encode())
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    if chunked:
        response = client.post(
            "/v1/partitions", input_stream=BytesIO(body), headers=headers, environ_overrides={"wsgi.input_terminated": True}
        )
    else:
        response = client.post("/v1/partitions", data=body, headers=headers)
    assert response.status_code == 200
    assert [each.kilobytes for each in seen] == [len(body) / 1_000]
    client.get("/v1/partitions?partitions_count=3&key=a")
    assert seen[-1].kilobytes == 1


def test_the_longest_name_is_measured_as_text():
    names = ["consumer", "", "\0\0", '"quoted"', "\ud800"]
    assert [longest_text([name]) for name in names] == [len(json.dumps(name)) for name in names]
    assert longest_text(iter(names)) == len(json.dumps("\0\0"))
    assert longest_text([]) == 0


@given(st.lists(st.text(st.sampled_from('ab"\\\0\x1f\x7fé😀~ '), max_size=4), max_size=4), st.integers(0, 3))
def test_the_longest_name_of_a_column_is_that_of_its_texts(names, start):
    assert longest_name(pa.array(names, pa.string())[start:]) == longest_text(names[start:])


def test_works_that_are_done_one_after_the_other_take_what_the_largest_needs():
    taken: list[int] = []
    reserve = Budget(reserve=taken.append).reserve_largest()
    for size in (5, 3, 9, 9):
        reserve(size)
    assert taken == [5, 4]
