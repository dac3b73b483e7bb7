"""How groups go from one assignor to another by rolling restarts."""

from __future__ import annotations

import pytest

from service.core.assignors import GROUP_PROTOCOLS
from service.core.assignors.changes import restarts
from service.core.errors import InvalidQuestion


@pytest.mark.parametrize(
    ("old", "new", "lists"),
    [
        ("range", "cooperative-sticky", [["cooperative-sticky", "range"], ["cooperative-sticky"]]),
        ("range", "librdkafka:range", [["librdkafka:range"]]),
        ("roundrobin", "librdkafka:range", [["librdkafka:range", "librdkafka:roundrobin"], ["librdkafka:range"]]),
        ("librdkafka:range", "cooperative-sticky", [["cooperative-sticky", "range"], ["cooperative-sticky"]]),
        ("librdkafka:cooperative-sticky", "librdkafka:range", "must have the same protocol type"),
        ("range", "librdkafka:cooperative-sticky", "must have the same protocol type"),
        ("cooperative-sticky", "aiokafka:range", "Clients of aiokafka have no assignor 'cooperative-sticky'"),
    ],
)
def test_restarts(old: str, new: str, lists: list[list[str]] | str) -> None:
    """One if members keep the assignor's name, else two; librdkafka takes no part in a change of protocol."""
    classic = GROUP_PROTOCOLS["classic"]
    if isinstance(lists, str):
        with pytest.raises(InvalidQuestion, match=lists):
            restarts(classic[old], classic[new])
    else:
        assert [[assignor.name for assignor in each] for each in restarts(classic[old], classic[new])] == lists
