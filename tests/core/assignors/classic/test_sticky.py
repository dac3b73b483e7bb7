"""The classic sticky assignors are Kafka's StickyAssignor and CooperativeStickyAssignor."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.assignors.classic.sticky import cooperative as cooperative_sticky
from service.core.assignors.classic.sticky import sticky
from service.core.assignors.classic.sticky.claims import read_claims
from service.core.errors import KafkaAssignorFails
from service.core.model import Ragged
from service.core.ragged import PIECE
from service.strategies import GROUP_PROTOCOLS
from tests.reference import sticky as reference
from tests.support import golden
from tests.support.choices import choices
from tests.support.groups import RACKS, bodies, flat, group_of, named
from tests.support.parity import group_leader

KAFKA = {
    "sticky": "org.apache.kafka.clients.consumer.StickyAssignor",
    "cooperative-sticky": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}
TWINS = {"sticky": reference.sticky, "cooperative-sticky": reference.cooperative_sticky}
ASSIGNORS = {name: GROUP_PROTOCOLS["classic"][name].run for name in KAFKA}

both = pytest.mark.parametrize("name", KAFKA)


def assigned(name, body):
    """member_id → its partitions in order; or the exception and its message; or "endless"."""
    group = group_of(body)
    try:
        assignment = ASSIGNORS[name](group)
    except KafkaAssignorFails as fails:
        return f"{fails.exception}: {fails.message}" if fails.exception else "endless"
    return {member_id: sorted(partitions) for member_id, partitions in named(group, assignment.rows).items()}


def by_kafka(name, body):
    answer = group_leader().assign(KAFKA[name], body)
    if "error" in answer:
        return f"{answer['error']['exception']}: {answer['error']['message']}"
    return {member_id: sorted(partitions) for member_id, partitions in flat(answer["assignments"]).items()}


def by_twin(name, body):
    try:
        return {member_id: sorted(partitions) for member_id, partitions in TWINS[name](body).items()}
    except reference.Throws as throws:
        return "java.lang.{}: {}".format(*throws.args)
    except reference.Endless:
        return "endless"


# ---- what Kafka was recorded to answer ---------------------------------------------------------------------------------


@golden.each(*(f"groups/classic-{name}{part}" for name in KAFKA for part in ("", "-sequences", "-large")))
def test_gives_what_kafka_was_recorded_to_give(case):
    expected = flat(case["expected"]["assignments"])
    assert assigned(case["request"]["assignor"], case["request"]) == {m: sorted(parts) for m, parts in expected.items()}


@golden.each("groups/errors", where=lambda case: case["request"]["assignor"] in KAFKA)
def test_throws_what_kafka_was_recorded_to_throw(case):
    request = case["request"]
    with pytest.raises(KafkaAssignorFails) as fails:
        ASSIGNORS[request["assignor"]](group_of(request))
    assert {"exception": fails.value.exception, "message": fails.value.message} == case["expected"]["error"]


@golden.each("groups/endless")
def test_recognises_movement_without_end(case):
    assert case["expected"]["error"]["exception"] is None
    with pytest.raises(
        KafkaAssignorFails, match=r"never returns: .* t2-2, now with member 'c3', .* back and forth .*; give"
    ) as fails:
        ASSIGNORS[case["request"]["assignor"]](group_of(case["request"]))
    assert fails.value.exception is None


@st.composite
def nearly_endless(draw):
    """A group that Kafka moves partitions in for ever, a little changed: some still do, and some do not."""
    body = copy.deepcopy(next(golden.lines("groups/endless"))["request"])
    for topic in body["topics"]:
        topic["partitions_count"] += draw(st.sampled_from((0, 0, 0, 1, 2)))
    for _ in range(draw(st.integers(0, 2))):
        owned = draw(st.sampled_from([one for member in body["members"] for one in member["owned_partitions"]]))
        if owned["partition_ids"]:
            moving = owned["partition_ids"].pop(draw(st.integers(0, len(owned["partition_ids"]) - 1)))
            to = draw(st.sampled_from([member for member in body["members"] if owned["topic_name"] in member["topic_names"]]))
            to["owned_partitions"].append({"topic_name": owned["topic_name"], "partition_ids": [moving]})
    body["members"] = draw(st.permutations(body["members"]))
    return body


@both
@given(body=nearly_endless())
def test_tells_movement_without_end_from_movement_that_ends(name, body):
    assert assigned(name, body) == by_twin(name, body)


# ---- random groups -----------------------------------------------------------------------------------------------------


@st.composite
def rebalances(draw, max_partitions=9, max_members=8):
    """A group with a previous assignment: lopsided or not, by subscribers or by anybody, with or without odd claims."""
    random = draw(choices())
    names = random.sample(("t", "t0", "t1", "T", "orders", "été"), random.randint(1, 4))
    counts = {name: random.randint(1, max_partitions) for name in names}
    racked, equal, odd, generations = (random.random() < 0.5 for _ in range(4))
    topics = [{"topic_name": name, "partitions_count": counts[name]} for name in names]
    for topic in topics if racked else ():
        topic["partition_racks"] = [random.sample(RACKS, random.randint(0, 2)) for _ in range(topic["partitions_count"])]
    members = []
    for i in random.sample(range(20), random.randint(1, max_members)):
        member = {"member_id": f"c{i}", "topic_names": names, "generation_id": 5, "owned_partitions": []}
        if not equal:
            member["topic_names"] = random.sample([*names, "unknown"], random.randint(not odd, len(names) + 1))
        if racked:
            member["rack_id"] = random.choice(RACKS)
        if generations:
            member["generation_id"] = random.randint(3, 5)
        members.append(member)
    for name in names:
        subscribers = [member for member in members if odd or name in member["topic_names"]]
        if not subscribers:
            continue
        main = random.choice(subscribers)
        for i in range(counts[name] + (random.randint(0, 1) if odd else 0)):
            others = {"main": 0, "nobody": 0, "another": 1, "two": 2}
            how = random.choice(["main"] * 3 + ["nobody", "another"] + ["two"] * odd)
            for owner in [main] * (how == "main") + random.choices(subscribers, k=others[how]):
                owner["owned_partitions"].append({"topic_name": name, "partition_ids": [i]})
    return {"topics": topics, "members": members}


@both
@given(body=st.one_of(bodies(), rebalances()))
def test_agrees_with_its_plain_twin(name, body):
    assert assigned(name, body) == by_twin(name, body)


@pytest.mark.slow
@both
@given(body=st.one_of(bodies(), rebalances(), rebalances(max_partitions=30, max_members=12)))
def test_agrees_with_the_real_class(name, body):
    here = assigned(name, body)
    if here != "endless":
        assert here == by_kafka(name, body)


@pytest.mark.slow
@both
@given(data=st.data())
def test_agrees_with_the_real_class_through_the_life_of_a_group(name, data):
    """Members join, leave, miss a rebalance and change subscriptions; topics come, grow, and are made again with fewer."""
    body = data.draw(rebalances(max_partitions=20))
    for member in body["members"]:
        member |= {"generation_id": 1, "owned_partitions": []}
    generation = 1
    for _ in range(data.draw(st.integers(1, 8))):
        here = assigned(name, body)
        if here == "endless":
            return
        assert here == by_kafka(name, body)
        body = copy.deepcopy(body)
        generation += 1
        missing = data.draw(st.sampled_from(["", "", *(member["member_id"] for member in body["members"])]))
        for member in body["members"] if isinstance(here, dict) else ():
            if member["member_id"] != missing:
                member["generation_id"] = generation
                member["owned_partitions"] = [{"topic_name": t, "partition_ids": [i]} for t, i in here[member["member_id"]]]
        change(data.draw, body, generation)


def change(draw, body, generation):
    """What happens to a group between two rebalances."""
    members, topics = body["members"], body["topics"]
    what = draw(st.sampled_from(("nothing", "join", "leave", "subscribe", "grow", "shrink", "topic")))
    if what == "join":
        topic_names = draw(st.sampled_from(members))["topic_names"] if members else [topic["topic_name"] for topic in topics]
        rack = draw(st.sampled_from(RACKS))
        members.insert(
            draw(st.integers(0, len(members))), {"member_id": f"j{generation}", "topic_names": topic_names, "rack_id": rack}
        )
    elif what == "leave" and len(members) > 1:
        members.pop(draw(st.integers(0, len(members) - 1)))
    elif what == "subscribe" and members:
        names = [topic["topic_name"] for topic in topics]
        draw(st.sampled_from(members))["topic_names"] = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    elif what in {"grow", "shrink"}:
        topic = draw(st.sampled_from(topics))
        topic.pop("partition_racks", None)
        topic["partitions_count"] = max(1, topic["partitions_count"] + draw(st.integers(1, 9)) * (1 if what == "grow" else -1))
    elif what == "topic":
        topics.append({"topic_name": f"new-{generation}", "partitions_count": draw(st.integers(1, 9))})
        for member in draw(st.lists(st.sampled_from(members), unique_by=id)) if members else ():
            member["topic_names"] = [*member["topic_names"], f"new-{generation}"]


# ---- cooperative -------------------------------------------------------------------------------------------------------


@given(bodies(min_members=1, sound=True))
def test_what_is_withheld_is_what_sticky_would_give_and_others_claim(body):
    group = group_of(body)
    cooperative = cooperative_sticky.assign(group)
    now, later = named(group, cooperative.rows), named(group, cooperative.withheld)
    assert cooperative.follow_up_rebalance == any(later.values())
    assert {m: sorted(now[m] + later[m]) for m in now} == assigned("sticky", body)
    claims = {
        (one["topic_name"], i) for m in body["members"] for one in m.get("owned_partitions", ()) for i in one["partition_ids"]
    }
    assert {partition for partitions in later.values() for partition in partitions} <= claims


def joining():
    """A owns t's five partitions, B joins."""
    return {
        "topics": [{"topic_name": "t", "partitions_count": 5}],
        "members": [
            {"member_id": "A", "generation_id": 1, "owned_partitions": [{"topic_name": "t", "partition_ids": [0, 1, 2, 3, 4]}]},
            {"member_id": "B"},
        ],
    }


def test_a_joiner_waits_for_the_partitions_that_another_has_to_give_up():
    group = group_of(joining())
    assignment = cooperative_sticky.assign(group)
    assert named(group, assignment.rows) == {"A": [("t", 0), ("t", 1), ("t", 2)], "B": []}
    assert named(group, assignment.withheld) == {"A": [], "B": [("t", 3), ("t", 4)]}
    assert assignment.follow_up_rebalance


# ---- explanations ------------------------------------------------------------------------------------------------------


def explanation(name, body, limit=100):
    group = group_of(body)
    assignor = GROUP_PROTOCOLS["classic"][name]
    return assignor.explain(group, assignor.run(group), limit)


def test_explains_what_each_phase_kept_and_gave_and_what_is_withheld_from_whom():
    told = explanation("cooperative-sticky", joining())
    assert told["algorithm"] == "constrained"
    assert [(phase["phase"], phase["partitions"]) for phase in told["phases"]] == [("keep", 3), ("give_up", 2), ("deal", 2)]
    assert told["phases"][1]["first"][0] == {"topic_name": "t", "partition_id": 3, "member_id": "A"}
    assert told["follow_up_rebalance"]
    assert told["withheld"][0] == {"topic_name": "t", "partition_id": 3, "member_id": "B", "claimed_by": ["A"]}
    assert {one["member_id"]: one["because"].split(",")[0] for one in told["members"]} == {
        "A": "one more",
        "B": "1 get one more",
    }


def test_explains_stale_and_contested_claims():
    owns = [{"topic_name": "t", "partition_ids": [0]}]
    body = {
        "topics": [{"topic_name": "t", "partitions_count": 2}],
        "members": [
            {"member_id": "A", "generation_id": 2, "owned_partitions": owns},
            {"member_id": "B", "generation_id": 2, "owned_partitions": owns},
            {"member_id": "C", "generation_id": 1, "owned_partitions": owns},
        ],
    }
    told = explanation("sticky", body)["claims"]
    assert told["contested"] == [{"topic_name": "t", "partition_id": 0, "claimed_by": ["A", "B", "C"]}]
    assert told["stale"] == [{"member_id": "C", "generation_id": 1, "partitions_claimed": 1}]
    assert told["newest_generation"] == 2


def test_those_that_claim_partitions_are_as_many_as_the_limit_in_all():
    owns = [{"topic_name": "t", "partition_ids": [0, 1]}]
    members = [{"member_id": name, "generation_id": 1, "owned_partitions": owns} for name in "AB"]
    body = {"topics": [{"topic_name": "t", "partitions_count": 2}], "members": members}
    contested = explanation("sticky", body, 3)["claims"]["contested"]
    assert [partition["claimed_by"] for partition in contested] == [["A", "B"], ["A"]]


def test_explains_why_the_general_algorithm_is_used_and_how_much_it_moved():
    body = joining()
    body["topics"].append({"topic_name": "u", "partitions_count": 1})
    body["members"][0]["topic_names"] = ["t"]
    told = explanation("sticky", body)
    assert told["algorithm"] == "general"
    assert "'B' subscribes to other topics" in told["because"]
    assert {phase["phase"]: phase["partitions"] for phase in told["phases"]} == {
        "keep": 5,
        "give_up": 0,
        "fill": 1,
        "reassign": 2,
    }
    assert told["phases"][3]["moves_of_all_partitions"] == 2


@both
@given(data=st.data(), limit=st.integers(1, 3))
def test_an_explanation_stays_within_its_limit(name, data, limit):
    def longest(told):
        if isinstance(told, dict):
            return max(map(longest, told.values()), default=0)
        return max(len(told), *map(longest, told)) if isinstance(told, list) and told else 0

    body = data.draw(bodies(min_members=1, sound=True))
    told = explanation(name, body, limit)
    told["phases"] = [phase["first"] for phase in told["phases"]]
    assert longest({**told, "phases": 0, "first": told["phases"][0]}) <= limit
    assert all(len(first) <= limit for first in told["phases"])


# ---- where Kafka fails -------------------------------------------------------------------------------------------------


def test_names_the_member_and_the_partition_that_does_not_exist():
    body = joining()
    body["topics"][0]["partitions_count"] = 3
    body["members"][0]["owned_partitions"][0]["partition_ids"] = [4]
    body["topics"].append({"topic_name": "u", "partitions_count": 2})
    body["members"][1] |= {"generation_id": 1, "owned_partitions": [{"topic_name": "u", "partition_ids": [0, 1]}]}
    with pytest.raises(
        KafkaAssignorFails, match=r"member 'A' still claims t-4, but the topic t has 3 partitions .* restart that"
    ):
        sticky.assign(group_of(body))


def test_names_the_member_of_an_older_generation_that_is_looked_up_in_vain():
    case = next(case for case in golden.lines("groups/errors") if "older-claim-of-a-settled-member" in case["id"])
    with pytest.raises(KafkaAssignorFails, match="member 'c1' claims t0-3 in the older generation 4"):
        sticky.assign(group_of(case["request"]))


def test_claims_that_are_read_piece_by_piece_are_settled_as_in_one_go():
    """Where a list does not ascend all are read in one go; what they say is the same."""
    random, members, topics, size = np.random.default_rng(7), 40, 3, 70_000
    body = {
        "topics": [{"topic_name": f"t{i}", "partitions_count": size} for i in range(topics)],
        "members": [{"member_id": f"m{i}", "generation_id": int(random.integers(1, 4))} for i in range(members)],
    }
    rows = [np.sort(random.choice(topics * size, 15_000, replace=False)).astype(np.int32) for _ in range(members)]
    offsets = np.append(0, np.cumsum([len(row) for row in rows])).astype(np.int32)
    group = group_of(body)
    claims = [
        read_claims(dataclasses.replace(group, owned=Ragged(offsets, np.concatenate(lists))))
        for lists in (rows, [row[:: (-1) ** i] for i, row in enumerate(rows)])
    ]
    assert topics * size > PIECE
    assert claims[0].contested.any()
    assert (claims[0].contested == claims[1].contested).all()
    assert (claims[0].owners == claims[1].owners).all()


def test_a_million_partitions_are_arrays_and_never_objects():
    assignment = sticky.assign(
        group_of({"topics": [{"topic_name": "t", "partitions_count": 10**6}], "members": [{"member_id": "m"}]})
    )
    assert assignment.rows.values.dtype == assignment.rows.offsets.dtype == np.int32
    assert len(assignment.rows.values) == 10**6
