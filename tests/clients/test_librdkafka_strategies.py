"""librdkafka's rule for lists of assignors."""

from __future__ import annotations

import pytest

from service.clients.librdkafka import check_list
from service.core.errors import InvalidQuestion
from service.strategies import GROUP_PROTOCOLS


@pytest.mark.parametrize(
    ("names", "accepted"),
    [
        (("range", "roundrobin"), True),
        (("cooperative-sticky",), True),
        (("range", "cooperative-sticky"), False),
        (("cooperative-sticky", "roundrobin"), False),
    ],
)
def test_eager_and_cooperative_do_not_mix(names, accepted):
    assignors = tuple(GROUP_PROTOCOLS["classic"][f"librdkafka:{name}"] for name in names)
    if accepted:
        check_list(assignors)
        return
    with pytest.raises(InvalidQuestion, match=rf"\({','.join(names)}\) assignors must have the same protocol type") as refusal:
        check_list(assignors)
    assert refusal.value.field == ("partition.assignment.strategy",)
