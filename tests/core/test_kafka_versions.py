"""Every assignor answers for the releases that it is known to, as those do."""

from __future__ import annotations

import pytest

from service.core.assignors import GROUP_PROTOCOLS
from service.core.errors import InvalidQuestion
from service.core.kafka_versions import RELEASES

EVERY = [
    pytest.param(protocol, assignor, id=f"{protocol}-{assignor.name}")
    for protocol, assignors in GROUP_PROTOCOLS.items()
    for assignor in assignors
]


@pytest.mark.parametrize(("protocol", "assignor"), EVERY)
def test_the_newest_release_is_answered_by_the_assignor_on_offer(protocol, assignor):
    assert assignor.at_release(RELEASES[-1]) is assignor
    assert assignor.kafka_versions[0] == ("4.2.0" if protocol == "share" else "4.0.0")


def test_uniform_changed_in_4_0_1():
    uniform = GROUP_PROTOCOLS["consumer"]["uniform"]
    assert uniform.at_release("4.0.0") is uniform.earlier[0]
    assert uniform.at_release("4.0.1") is uniform


@pytest.mark.parametrize("version", ["3.9.1", "4.1.1", "5.0.0", ""])
def test_an_unknown_release_is_refused_with_the_known_ones(version):
    with pytest.raises(InvalidQuestion, match=r"supported are 4\.2\.0, 4\.2\.1, 4\.3\.0, 4\.3\.1") as refusal:
        GROUP_PROTOCOLS["share"]["simple"].at_release(version)
    assert refusal.value.field == ("kafka_version",)
