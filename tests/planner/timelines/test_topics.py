"""When clients see new topics, against a twin that looks at one version after the other."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from service.planner.timelines.model import World
from service.planner.timelines.topics import Topology
from tests.reference.topology import arrival_ms

NAMES = 4
MOST = 5


@given(data=st.data())
def test_versions_arrive_as_one_after_the_other(data: st.DataObject) -> None:
    counts = data.draw(st.lists(st.integers(0, MOST), min_size=NAMES, max_size=NAMES))
    first = np.arange(NAMES + 1, dtype=np.int32) * MOST
    topology = Topology(
        World(tuple("abcd"), (None,) * NAMES, first, np.array(counts, np.int32), np.arange(NAMES), None, None, None)
    )
    versions, now = [(0, counts)], 0
    for _ in range(data.draw(st.integers(0, 80))):
        now += data.draw(st.sampled_from((0, 1, 90, 700, 5_000)))
        topic, count = data.draw(st.integers(0, NAMES - 1)), data.draw(st.integers(0, MOST))
        topology.change(now, topic, count)
        counts = [*counts[:topic], count, *counts[topic + 1 :]]
        versions.append((now, counts))
    topics = sorted(data.draw(st.sets(st.integers(0, NAMES - 1))))
    after, requested_ms = data.draw(st.integers(0, len(versions) - 1)), data.draw(st.integers(0, 20_000))
    max_age_ms = data.draw(st.sampled_from((1, 3_000, 300_000)))

    expected = [arrival_ms(versions, i, requested_ms, topics, max_age_ms) for i in range(after + 1, len(versions))]
    assert topology.arrivals(after, requested_ms, topics, max_age_ms).tolist() == expected
    known = [i for i, at_ms in enumerate(expected, after + 1) if at_ms <= now]
    assert topology.version_at(now, requested_ms, topics, max_age_ms, after) == max(known, default=after)
    chosen = data.draw(st.integers(0, len(versions) - 1))
    assert topology.counts_at(chosen).tolist() == versions[chosen][1]
    assert topology.view(chosen).counts.tolist() == versions[chosen][1]
