"""How even a placer makes topics is computed once for those of a size in a cluster."""

from __future__ import annotations

import numpy as np
import pytest

from service.core.model import PlacementRequest
from service.planner.placement_audits import KEPT, evenness
from service.strategies import PLACERS
from tests.core.placers.test_audit import cluster_of

REQUEST = PlacementRequest(4, 2)


@pytest.mark.parametrize(
    ("racks", "fenced", "request_", "placer"),
    [
        ("abab", (), REQUEST, "striped"),
        ("aabc", (1,), REQUEST, "striped"),
        ("aabc", (), PlacementRequest(3, 2), "striped"),
        ("aabc", (), PlacementRequest(4, 2, 1), "striped"),
        ("aabc", (), REQUEST, "rack-aware"),
        ("ccab", (), REQUEST, "striped"),
    ],
)
def test_another_cluster_size_or_placer_is_another_result(
    racks: str, fenced: tuple[int, ...], request_: PlacementRequest, placer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.planner.placement_audits._kept", {})  # other tests have filled it
    first = evenness(PLACERS["striped"], cluster_of("aabc"), REQUEST)
    other = evenness(PLACERS[placer], cluster_of(racks, fenced), request_)
    assert other is not first
    for _ in range(2):
        assert evenness(PLACERS["striped"], cluster_of("aabc"), REQUEST) is first
        assert evenness(PLACERS[placer], cluster_of(racks, fenced), request_) is other
    for partitions in range(10, 10 + KEPT):  # these push it out
        evenness(PLACERS["modulo"], cluster_of("aabc"), PlacementRequest(partitions, 1))
    again = evenness(PLACERS["striped"], cluster_of("aabc"), REQUEST)
    assert again is not first
    assert np.array_equal(again.skews, first.skews)
