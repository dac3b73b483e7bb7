"""Recorded answers of a client's own library, compared with ours.

Where ten fresh processes of the library did not agree (``nondeterministic``), the recording has what they had in common; ours,
which holds for every run, may have less of that but nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from service.core.errors import KafkaAssignorFails
from service.strategies import GROUP_PROTOCOLS
from tests.support import golden
from tests.support.groups import flat, group_of, named

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.core.assignors import Assignor
    from service.core.model import Assignment, Group

CLASSIC = GROUP_PROTOCOLS["classic"]


def recorded(name: str) -> str:
    """The file with the recordings of an assignor, named in full."""
    return f"clients/{name.replace(':', '-')}"


def assert_all_agree(name: str) -> None:
    """As ``assert_agrees``, for all recordings of an assignor."""
    golden.check(recorded(name), lambda case: assert_agrees(name, case))


def assert_agrees(name: str, case: dict[str, Any], release: str | None = None) -> None:
    """Our answer is the recorded one, or has a part of what the recorded ones had in common."""
    assignor = CLASSIC[name] if release is None else CLASSIC[name].of_client(release)
    run = _run(assignor, case)
    group = group_of(case["request"])
    expected = case["expected"]
    if "error" in expected:
        with pytest.raises(KafkaAssignorFails):
            run(group)
        return
    assignment = run(group)
    ours, theirs = named(group, assignment.rows), flat(expected["assignments"])
    if assignment.left_open is None:
        assert not case.get("nondeterministic"), "the library leaves something to chance"
        assert {member: sorted(partitions) for member, partitions in ours.items()} == theirs
        return
    for member, partitions in ours.items():
        assert set(partitions) <= set(theirs[member]), member
    if assignment.withheld is None:
        assigned = len(assignment.rows.values) + len(assignment.left_open.partitions)
        assert [assigned] == expected.get("assigned", [sum(map(len, theirs.values()))])


def _run(assignor: Assignor, case: dict[str, Any]) -> Callable[[Group], Assignment]:
    """The assignor with the options of a recording."""
    racked = case.get("options", {}).get("balance_racks") and assignor.on_racks is not None
    return assignor.on_racks if racked else assignor.run  # type: ignore[return-value]


def certain(name: str) -> tuple[int, int]:
    """Of the partitions that all recorded runs of an assignor agree on: how many are in our answers, and how many there are."""
    ours = theirs = 0
    for case in golden.lines(recorded(name)):
        if "error" not in case["expected"]:
            ours += len(_run(CLASSIC[name], case)(group_of(case["request"])).rows.values)
            theirs += sum(map(len, flat(case["expected"]["assignments"]).values()))
    return ours, theirs
