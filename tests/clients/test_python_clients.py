"""kafka-python's and aiokafka's assignors answer as the libraries do."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from service.core.errors import KafkaAssignorFails
from service.strategies import GROUP_PROTOCOLS
from tests.clients.harness import assert_all_agree, recorded
from tests.reference.clients import kafka_python as reference
from tests.reference.clients.python_sticky import Endless, Executor, Throws, cooperative
from tests.support import golden
from tests.support.groups import bodies, group_of, named

CLASSIC = GROUP_PROTOCOLS["classic"]
NAMES = [each.name for each in CLASSIC.builtins if each.name.partition(":")[0] in {"kafka-python", "aiokafka"}]


def in_order(answer):
    return {member: sorted(partitions) for member, partitions in answer.items()}


def assigned(name, body):
    group = group_of(body)
    return in_order(named(group, CLASSIC[name].run(group).rows))


@pytest.mark.parametrize("name", NAMES)
def test_gives_what_the_library_was_recorded_to_give(name):
    assert_all_agree(name)


@golden.each(recorded("kafka-python:roundrobin"), where=lambda case: "error" in case["expected"])
def test_fails_as_the_library_was_recorded_to_fail(case):
    with pytest.raises(KafkaAssignorFails) as failure:
        assigned("kafka-python:roundrobin", case["request"])
    assert {"exception": failure.value.exception, "message": failure.value.message} == case["expected"]["error"]


@given(bodies())
def test_range_agrees_with_its_plain_twin(body):
    assert assigned("kafka-python:range", body) == in_order(reference.range_(body))


@given(bodies())
def test_roundrobin_agrees_with_its_plain_twin(body):
    expected = reference.roundrobin(body)
    if isinstance(expected, str):
        with pytest.raises(KafkaAssignorFails) as failure:
            assigned("kafka-python:roundrobin", body)
        assert failure.value.message == expected
    else:
        assert assigned("kafka-python:roundrobin", body) == in_order(expected)


STICKY = {
    "kafka-python:sticky": {"undoes": True},
    "kafka-python:cooperative-sticky": {"undoes": True, "sorts": True},
    "aiokafka:sticky": {"undoes": False},
}


def runs(body, **library):
    """What the library gives with lists of topics that are alike, and that are not."""
    for like_lists in (True, library.get("sorts", False) or len(body["topics"]) == 1):
        executor = Executor(body, like_lists=like_lists, **library)
        answer = cooperative(executor) if executor.sorts else executor.run()
        assume(not executor.chances)
        yield in_order(answer)


@pytest.mark.parametrize("name", STICKY)
@given(body=st.one_of(bodies(min_members=1), bodies(min_members=2, sound=True)))
def test_sticky_agrees_with_its_plain_twin(name, body):
    try:
        one, other = runs(body, **STICKY[name])
    except Throws:
        with pytest.raises(KafkaAssignorFails, match="throws KeyError"):
            assigned(name, body)
    except Endless:
        with pytest.raises(KafkaAssignorFails, match="never returns"):
            assigned(name, body)
    else:
        common = {member: [p for p in one[member] if p in other[member]] for member in one}
        assert assigned(name, body) == common
