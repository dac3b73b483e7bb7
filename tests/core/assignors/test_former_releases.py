"""Recorded groups are assigned as each release of Kafka assigned them."""

from __future__ import annotations

import pytest

from service.core.assignors import GROUP_PROTOCOLS, KAFKAS
from tests.support import golden
from tests.support.groups import flat, group_of, named
from tests.support.jvm import COMPARED, FORMER_CLIENTS


@pytest.mark.parametrize(
    ("release", "protocol", "name"),
    [
        (release, protocol, assignor.name)
        for protocol, assignors in KAFKAS.items()
        for release in (*COMPARED, *(FORMER_CLIENTS if protocol == "classic" else ()))
        for assignor in assignors
    ],
)
def test_gives_what_the_release_was_recorded_to_give(release, protocol, name):
    assignor = GROUP_PROTOCOLS[protocol][name].at(release)
    for case in golden.lines(f"releases/{release}/{protocol}-{name}"):
        group = group_of(case["request"])
        assignment = named(group, assignor.run(group).rows)
        expected = flat(case["expected"]["assignments"])
        assert {m: sorted(parts) for m, parts in assignment.items()} == {m: sorted(parts) for m, parts in expected.items()}, case[
            "id"
        ]
