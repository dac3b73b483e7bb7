"""Recorded groups are assigned as each release of Kafka assigned them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson
import pytest

from service.strategies import GROUP_PROTOCOLS, KAFKAS
from tests.support import golden
from tests.support.groups import flat, group_of, named
from tests.support.jvm import COMPARED, FORMER_CLIENTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.core.model import Group
    from tests.support.groups import Body


@pytest.fixture(scope="module")
def read() -> Callable[[Body], Group]:
    """``group_of``, once for each group: the releases were asked for the same ones."""
    groups: dict[bytes, Group] = {}

    def group(body: Body) -> Group:
        rows = orjson.dumps([body["topics"], body["members"]])
        if rows not in groups:
            groups[rows] = group_of(body)
        return groups[rows]

    return group


@pytest.mark.parametrize(
    ("release", "protocol", "name"),
    [
        (release, protocol, assignor.name)
        for protocol, assignors in KAFKAS.items()
        for release in (*COMPARED, *(FORMER_CLIENTS if protocol == "classic" else ()))
        for assignor in assignors
    ],
)
def test_gives_what_the_release_was_recorded_to_give(read, release, protocol, name):
    assignor = GROUP_PROTOCOLS[protocol][name].at(release)
    for case in golden.lines(f"releases/{release}/{protocol}-{name}"):
        group = read(case["request"])
        assignment = named(group, assignor.run(group).rows)
        expected = flat(case["expected"]["assignments"])
        assert {m: sorted(parts) for m, parts in assignment.items()} == {m: sorted(parts) for m, parts in expected.items()}, case[
            "id"
        ]
