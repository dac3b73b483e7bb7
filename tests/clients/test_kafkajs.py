"""kafkajs's RoundRobinAssigner answers as the library does."""

from __future__ import annotations

from hypothesis import given

from service.strategies import GROUP_PROTOCOLS
from tests.clients.harness import assert_all_agree
from tests.support.groups import bodies, group_of, named

NAME = "kafkajs:RoundRobinAssigner"
ASSIGNOR = GROUP_PROTOCOLS["classic"][NAME]


def test_gives_what_the_library_was_recorded_to_give():
    assert_all_agree(NAME)


def reference(body):
    """RoundRobinAssigner.assign, with the first member as the leader."""
    counts = {topic["topic_name"]: topic["partitions_count"] for topic in body["topics"]}
    members = sorted((member["member_id"] for member in body["members"]), key=lambda name: name.encode("utf-16-be"))
    dealt = [(topic, i) for topic in body["members"][0].get("topic_names", counts) for i in range(counts.get(topic, 0))]
    return {member: sorted(dealt[place :: len(members)]) for place, member in enumerate(members)}


@given(bodies(min_members=1))
def test_agrees_with_its_plain_twin(body):
    assert assigned(body, ASSIGNOR) == reference(body)


@given(bodies(min_members=1))
def test_each_topic_is_dealt_by_itself_until_1_12(body):
    leaders = body["members"][0].get("topic_names", [topic["topic_name"] for topic in body["topics"]])
    whole = {member["member_id"]: [] for member in body["members"]}
    for topic in leaders:
        for member, partitions in reference(
            {**body, "members": [{**each, "topic_names": [topic]} for each in body["members"]]}
        ).items():
            whole[member] += partitions
    assert assigned(body, ASSIGNOR.of_client("1.12")) == {member: sorted(partitions) for member, partitions in whole.items()}


def assigned(body, assignor):
    group = group_of(body)
    return {member: sorted(partitions) for member, partitions in named(group, assignor.run(group).rows).items()}


def test_a_group_without_members_gets_no_assignments():
    assert len(ASSIGNOR.run(group_of({"topics": [{"topic_name": "t", "partitions_count": 1}], "members": []})).rows) == 0


def test_warns_where_the_leader_decides():
    def warnings(*subscriptions, assignor=ASSIGNOR):
        members = [{"member_id": f"c{i}", "topic_names": names} for i, names in enumerate(subscriptions)]
        return assignor.warnings(group_of({"topics": [], "members": members}))

    assert not warnings()
    assert not warnings(["t", "u"], ["t", "u"])
    assert not warnings([], [])
    assert warnings(["t", "u"], ["u", "t"])
    assert not warnings(["t", "u"], ["u", "t"], assignor=ASSIGNOR.of_client("1.12.0"))
    assert warnings(["t"], ["u", "t"], assignor=ASSIGNOR.of_client("1.12.0"))
    assert warnings(["t"], ["t", "u"])
    assert warnings([], ["t"])
