"""The sticky assignors of older releases are those of their jars."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from service.core.errors import InvalidQuestion, KafkaAssignorFails
from service.strategies import GROUP_PROTOCOLS
from tests.core.assignors.classic.test_sticky import KAFKA, rebalances
from tests.reference import former_sticky as reference
from tests.reference.sticky import Endless, Throws
from tests.support.groups import bodies, flat, group_of, named
from tests.support.parity import group_leader

RELEASES = ("2.4.1", "2.8.2", "3.4.1")
TWINS = {"sticky": reference.sticky, "cooperative-sticky": reference.cooperative_sticky}

every = pytest.mark.parametrize(("release", "name"), [(release, name) for release in RELEASES for name in KAFKA])


def assigned(release, name, body):
    """member_id → its partitions in order; or the exception and its message; or "endless"."""
    group = group_of(body)
    try:
        assignment = GROUP_PROTOCOLS["classic"][name].at(release).run(group)
    except KafkaAssignorFails as fails:
        return f"{fails.exception}: {fails.message}" if fails.exception else "endless"
    except InvalidQuestion:
        return reference.TOO_MANY_OWNERS
    return {member_id: sorted(partitions) for member_id, partitions in named(group, assignment.rows).items()}


def by_twin(release, name, body):
    try:
        return {member_id: sorted(partitions) for member_id, partitions in TWINS[name](body, release).items()}
    except Throws as throws:
        return "java.{}.{}: {}".format("util" if "Element" in throws.args[0] else "lang", *throws.args)
    except ValueError as too_many:
        return str(too_many)
    except Endless:
        return "endless"


def by_kafka(release, name, body):
    answer = group_leader(release).assign(KAFKA[name], body)
    if "error" in answer:
        return f"{answer['error']['exception']}: {answer['error']['message']}"
    return {member_id: sorted(partitions) for member_id, partitions in flat(answer["assignments"]).items()}


@every
@given(body=st.one_of(bodies(), rebalances()))
def test_agrees_with_its_plain_twin(release, name, body):
    assert assigned(release, name, body) == by_twin(release, name, body)


@pytest.mark.slow
@every
@given(body=st.one_of(bodies(), rebalances(), rebalances(max_partitions=30, max_members=12)))
def test_agrees_with_the_real_class(release, name, body):
    here = assigned(release, name, body)
    assume(here not in ("endless", reference.TOO_MANY_OWNERS))
    assert here == by_kafka(release, name, body)


def test_older_claims_count_since_3_4_and_racks_since_3_9():
    body = {
        "topics": [{"topic_name": "t", "partitions_count": 4, "partition_racks": [["a"], ["a"], ["b"], ["b"]]}],
        "members": [
            {
                "member_id": "A",
                "generation_id": 2,
                "rack_id": "a",
                "owned_partitions": [{"topic_name": "t", "partition_ids": [3]}],
            },
            {
                "member_id": "B",
                "generation_id": 1,
                "rack_id": "b",
                "owned_partitions": [{"topic_name": "t", "partition_ids": [0]}],
            },
        ],
    }
    given_a = {release: assigned(release, "sticky", body)["A"] for release in (*RELEASES, "3.9.1")}
    assert given_a["2.8.2"] == [("t", 0), ("t", 3)]
    assert given_a["3.4.1"] == [("t", 1), ("t", 3)]
    assert given_a["3.9.1"] == [("t", 0), ("t", 1)]


@pytest.mark.parametrize("release", RELEASES)
def test_explains_the_algorithm_of_the_release(release):
    body = {"topics": [{"topic_name": "t", "partitions_count": 3}], "members": [{"member_id": "A"}, {"member_id": "B"}]}
    group, assignor = group_of(body), GROUP_PROTOCOLS["classic"]["sticky"].at(release)
    told = assignor.explain(group, assignor.run(group), 10)
    assert told["algorithm"] == ("general" if release == "2.4.1" else "constrained")
    assert ("up to Kafka 2.6" in told["because"]) == (release == "2.4.1")
