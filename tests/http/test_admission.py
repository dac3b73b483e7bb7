"""Long requests leave places to small ones."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from service.http.application import AdmissionControl
from service.http.memory import Overloaded

if TYPE_CHECKING:
    from collections.abc import Callable


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def in_background(steps: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=steps)
    thread.start()
    return thread


@pytest.mark.parametrize(("places", "long_places"), [(1, 1), (2, 1), (4, 3), (8, 7), (16, 14), (32, 28)])
def test_an_eighth_of_the_places_is_kept_from_long_requests(places: int, long_places: int) -> None:
    control = AdmissionControl(places, 1, seconds=0.01)
    for _ in range(long_places):
        control.enter()
        control.lengthen()
    if places > 1:
        control.enter()
        with pytest.raises(Overloaded):
            control.lengthen()
    for _ in range(places - long_places):
        control.enter()
    with pytest.raises(Overloaded):
        control.enter()


def test_a_long_request_waits_without_a_place_and_gets_that_of_the_next_long_one_to_leave() -> None:
    queued, admitted = [], []
    control = AdmissionControl(2, 3, queued.append)
    control.enter()
    control.lengthen()

    def second() -> None:
        control.enter()
        control.lengthen()
        admitted.append("long")

    thread = in_background(second)
    wait_for(lambda: queued == [1])
    control.enter()  # a small one, while a long one runs and another waits
    control.leave()
    assert not admitted
    control.leave(long=True)
    thread.join(120)
    assert admitted == ["long"]
    assert queued == [1, -1]
    control.enter()
    with pytest.raises(Overloaded, match="disconnected"):
        control.lengthen(is_connected=lambda: False)
    control.leave(long=True)
    control.enter()
    control.lengthen()


def test_a_long_request_that_waits_admits_a_small_one_that_has_waited() -> None:
    control, admitted = AdmissionControl(2, 3), []
    control.enter()
    control.lengthen()
    control.enter()
    small = in_background(lambda: (control.enter(), admitted.append("small")))
    wait_for(lambda: len(control._queue) == 1)
    long = in_background(lambda: (control.lengthen(), admitted.append("long")))
    small.join(120)
    assert admitted == ["small"]
    control.leave(long=True)
    long.join(120)
    assert admitted == ["small", "long"]


def test_both_queues_together_are_as_long_as_allowed() -> None:
    control = AdmissionControl(2, 1)
    control.enter()
    control.lengthen()
    control.enter()
    small = in_background(control.enter)
    wait_for(lambda: len(control._queue) == 1)
    # The place that the long one gives away goes to the one that waits, and then there is room in the queue for it.
    long = in_background(control.lengthen)
    small.join(120)
    wait_for(lambda: len(control._long_queue) == 1)
    with pytest.raises(Overloaded, match="full"):
        control.enter()
    control.leave(long=True)
    long.join(120)
