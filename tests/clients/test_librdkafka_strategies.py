"""librdkafka's rule for lists of assignors."""

from __future__ import annotations

import pytest

from service.clients.librdkafka import PROTOCOLS, Strategies, strategies
from service.core.errors import InvalidQuestion
from service.strategies import GROUP_PROTOCOLS


@pytest.mark.parametrize(
    ("setting", "names", "protocol"),
    [
        ("range,roundrobin", ("range", "roundrobin"), "eager"),
        (" roundrobin ,,range,roundrobin,", ("roundrobin", "range"), "eager"),
        ("cooperative-sticky", ("cooperative-sticky",), "cooperative"),
        ("", (), None),
    ],
)
def test_a_list_has_the_protocol_of_its_assignors(setting, names, protocol):
    assert strategies(setting) == Strategies(names, protocol)


def test_the_default_is_eager():
    assert strategies().protocol == "eager"


@pytest.mark.parametrize("setting", ["range,cooperative-sticky", "cooperative-sticky, roundrobin"])
def test_eager_and_cooperative_do_not_mix(setting):
    with pytest.raises(InvalidQuestion, match="must have the same protocol type") as refusal:
        strategies(setting)
    assert refusal.value.field == ("partition.assignment.strategy",)


@pytest.mark.parametrize("setting", ["sticky", "range, ", "Range"])
def test_an_unknown_name_is_refused(setting):
    with pytest.raises(InvalidQuestion, match="Unsupported"):
        strategies(setting)


def test_every_assignor_of_librdkafka_has_a_protocol():
    offered = {each.name.partition(":")[2] for each in GROUP_PROTOCOLS["classic"].builtins if each.name.startswith("librdkafka:")}
    assert offered == PROTOCOLS.keys()
