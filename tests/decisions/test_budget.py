"""What a question may take."""

from __future__ import annotations

import time

import pytest

from service.core.errors import LimitExceeded
from service.decisions.budget import Budget, OutOfTime


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
