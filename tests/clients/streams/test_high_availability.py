"""The kernels of high-availability beside their twin. Both beside Streams' own classes in ``test_classic.py``."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.api.streams import FORM
from service.clients.streams.classic import high_availability, standbys
from service.clients.streams.classic.client import Client
from service.core.kernels import kernel
from service.decisions.streams.answer import read_clients
from tests.reference import streams_leader
from tests.support.task_groups import streams_clients

CLIENTS = 20
PAIRS = st.tuples(*[st.integers(0, CLIENTS - 1)] * 2)
LOADS = st.tuples(*[st.sampled_from((0.0, 0.5, 1.0, 1.5, 2.0))] * 2)


@kernel
def play(hashes, pairs, loads, able):
    """The clients that were polled, after each pair has entered."""
    queue = standbys.empty_queue(hashes)
    polled = np.empty(len(pairs), np.int32)
    for i in range(len(pairs)):
        queue.loads[pairs[i]] = loads[i]
        for client in pairs[i]:
            standbys.enter(queue, client)
        polled[i] = standbys.poll(queue, able[i])
    return polled


@given(
    st.lists(st.integers(-(2**31), 2**31 - 1), min_size=CLIENTS, max_size=CLIENTS),
    st.lists(st.tuples(PAIRS, LOADS, st.integers(0, 2**CLIENTS - 1)), min_size=1, max_size=80),
)
def test_clients_leave_the_queue_as_from_javas(hashes, steps):
    clients = [Client(number, code, 1) for number, code in enumerate(hashes)]
    load = {}
    able = [[mask >> client & 1 > 0 for client in range(CLIENTS)] for *_, mask in steps]
    queue = streams_leader.ClientQueue(lambda client, step: able[step][client.number], lambda client: load[client])
    expected = []
    for step, (pair, loads, _) in enumerate(steps):
        load |= zip((clients[client] for client in pair), loads, strict=True)
        queue.offer(*(clients[client] for client in pair))
        polled = queue.poll(step)
        expected.append(-1 if polled is None else polled.number)
    pairs, loads, _ = zip(*steps, strict=True)
    assert play(np.array(hashes, np.int32), np.array(pairs), np.array(loads), np.array(able)).tolist() == expected


@pytest.mark.parametrize("seed", range(100))
def test_a_random_group_is_assigned_as_by_the_twin(seed):
    body = streams_clients(Random(f"twin-{seed}")) | {"assignor": "high-availability", "rack_aware_assignment_strategy": "none"}
    question = FORM.question(body)
    kernels, twin = read_clients(question), read_clients(question)
    assert high_availability.assign(kernels) == streams_leader.assign(twin)
    for ours, theirs in zip(kernels.clients, twin.clients, strict=True):
        assert (ours.active, ours.standby) == (theirs.active, theirs.standby)
