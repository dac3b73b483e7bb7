"""``RemoteAssignor`` of clients/java, called as a group leader calls it: it takes sound advice, in time, and no other."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import count

import pytest
import trustme

from tests.support.advisers import advising, faults
from tests.support.jvm import COMPARED, KAFKA, compiled
from tests.support.parity import Assignors
from tests.support.serving import DRIPS, dripping, free_port

REMOTE = "partitionallocator.clients.RemoteAssignor"
ALONE = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
DEADLINE_MS = 5_000
"""A busy machine is no reason for another outcome."""
NUMBERS = count()


@cache
def leader_jvm(release: str = KAFKA) -> Assignors:
    """Group leaders that have the assignor."""
    return Assignors("GroupLeader.java", f"org.apache.kafka:kafka-clients:{release}", more_classes=compiled("clients/java"))


@pytest.fixture
def adviser():
    with advising() as running:
        yield running


class Leader:
    """A group leader with the assignor."""

    def __init__(self, url, release=KAFKA, **config):
        given = {"url": url, "timeout.ms": DEADLINE_MS, **{name.replace("_", "."): value for name, value in config.items()}}
        self.configs = {f"partition.allocator.{name}": str(value) for name, value in given.items()}
        self.configs |= {"group.id": f"led-{next(NUMBERS)}", "session.timeout.ms": "60000"}
        self.jvm, self.outcomes, self.milliseconds = leader_jvm(release), {}, 0.0

    def assign(self, body):
        """Member → its (topic, partition); ``outcome`` is then the one that has been counted."""
        before = self.outcomes
        answer = self.jvm.assign(REMOTE, body, configs=self.configs)
        self.outcomes, self.milliseconds = answer["outcomes"], answer["milliseconds"]
        (self.outcome,) = {name for name, value in self.outcomes.items() if value != before.get(name, 0)} or {""}
        return sets(answer)


def sets(answer):
    return {
        each["member_id"]: {(part["topic_name"], i) for part in each["partitions"] for i in part["partition_ids"]}
        for each in answer["assignments"]
    }


def alone(body):
    """What cooperative-sticky assigns."""
    return sets(leader_jvm().assign(ALONE, body))


def group(owned, topics=None, generation=3):
    """A body. owned : member → its (topic, partition)"""
    topics = topics or {"orders": 7}
    members = []
    for member, partitions in owned.items():
        names = sorted({topic for topic, _ in partitions})
        rows = [{"topic_name": name, "partition_ids": sorted(i for topic, i in partitions if topic == name)} for name in names]
        members.append({"member_id": member, "generation_id": generation if rows else -1, "owned_partitions": rows})
    return {"topics": [{"topic_name": name, "partitions_count": size} for name, size in topics.items()], "members": members}


GROWN = group({"a": [("orders", i) for i in range(4)], "b": [("orders", i) for i in range(4, 7)], "c": []})
"""A third member has come."""
EVEN = group({"a": [("orders", 0), ("orders", 1)], "b": [("orders", 2), ("orders", 3)]}, {"orders": 4})


def check_revoked_first(body, assigned):
    """Nothing goes straight to another member. kafka-clients demands it, but takes any claim for an owner's."""
    claims, generations = {}, {each["member_id"]: each["generation_id"] for each in body["members"]}
    for each in body["members"]:
        for part in each["owned_partitions"]:
            for i in part["partition_ids"]:
                claims.setdefault((part["topic_name"], i), set()).add(each["member_id"])
    for partition, members in claims.items():
        newest = max(generations[member] for member in members)
        for member in assigned:
            if partition in assigned[member] and (member not in members or generations[member] < newest):
                assert all(partition in assigned[other] for other in members), partition


@pytest.mark.parametrize("release", ["3.9.1", *COMPARED])
def test_the_service_assigns_and_the_second_rebalance_needs_no_request(adviser, release):
    """The third member gets its partitions when the others have revoked them."""
    leader = Leader(adviser.url, release, token="t0")  # noqa: S106
    first = leader.assign(GROWN)
    assert leader.outcome == "remote-total"
    assert adviser.tokens == ["Bearer t0"]
    assert [len(first[member]) for member in "abc"] == [3, 2, 0]
    check_revoked_first(GROWN, first)
    again = group(first, generation=4)
    second = leader.assign(again)
    assert leader.outcome == "follow-up-total"
    assert len(adviser.asked) == 1
    assert [len(second[member]) for member in "abc"] == [3, 2, 2]
    leader.assign(group(second, generation=5))
    assert leader.outcome == "remote-total"


def test_the_request_says_what_the_leader_knows(adviser):
    """Racks, instances, subscriptions; and of two that claim a partition, the one of the newest generation."""
    body = group({"a": [("t", 0), ("t", 1)], "b": [("t", 1)]}, {"t": 2, "u": 1})
    body["topics"][0]["partition_racks"] = [["x"], ["y"]]
    body["topics"][1]["partition_racks"] = [["x", "y"]]
    body["members"][0] |= {"rack_id": "x", "instance_id": 'i"1"\n', "topic_names": ["t", "unknown"]}
    body["members"][1] |= {"generation_id": 4, "topic_names": ["t", "u"]}
    leader = Leader(adviser.url)
    leader.assign(body)
    assert leader.outcome == "remote-total"
    (asked,) = adviser.asked
    owned = [{"topic_name": "t", "partition_ids": [0]}], [{"topic_name": "t", "partition_ids": [1]}]
    assert asked == {
        "group_protocol": "classic",
        "assignor": "balanced",
        "group_id": leader.configs["group.id"],
        "topics": body["topics"],
        "members": [
            {
                "member_id": "a",
                "instance_id": 'i"1"\n',
                "rack_id": "x",
                "topic_names": ["t", "unknown"],
                "owned_partitions": owned[0],
            },
            {"member_id": "b", "topic_names": ["t", "u"], "owned_partitions": owned[1]},
        ],
    }


@pytest.mark.parametrize("name", faults(None))
def test_whatever_goes_wrong_cooperative_sticky_assigns(adviser, name):
    outcome, adviser.fault = faults(adviser)[name]
    leader = Leader(adviser.url, timeout_ms=400 if outcome == "timeout" else DEADLINE_MS)
    assert leader.assign(GROWN) == alone(GROWN)
    assert leader.outcome == f"local-{outcome}-total"


@pytest.mark.parametrize("place", DRIPS)
def test_an_answer_that_never_ends_is_left_behind_at_the_deadline(place):
    """That ``assign`` returns shows it, however busy the machine is."""
    with ThreadPoolExecutor(1) as pool, dripping(DRIPS[place]) as (url, connections):
        leader = Leader(url.removesuffix("/jwks"), timeout_ms=400)
        assert pool.submit(leader.assign, GROWN).result(120) == alone(GROWN)
        assert leader.outcome == "local-timeout-total"
        assert leader.milliseconds >= 400
        assert len(connections) == 1


def test_after_three_failures_no_request_is_sent_for_a_while(adviser):
    leader = Leader(f"http://127.0.0.1:{free_port()}")
    for _ in range(3):
        assert leader.assign(GROWN) == alone(GROWN)
        assert leader.outcome == "local-unreachable-total"
    assert leader.assign(GROWN) == alone(GROWN)
    assert leader.outcome == "local-circuit-open-total"
    assert leader.milliseconds < DEADLINE_MS

    leader = Leader(adviser.url)
    for name in ("503", "nonsense", None, "503", "503", "503", None):  # what succeeds between them sets the count back
        adviser.fault = faults(adviser)[name][1] if name else None
        leader.assign(EVEN)
    assert leader.outcome == "local-circuit-open-total"
    assert len(adviser.asked) == 6


def test_what_moves_too_many_partitions_is_not_taken(adviser):
    """The members change places, which no bound of the service's own prevents here."""
    swapped = {"a": "b", "b": "a"}
    adviser.fault = lambda _, rows: [(topic, i, swapped[member]) for topic, i, member in rows]
    leader = Leader(adviser.url, max_moves=3)
    assert leader.assign(EVEN) == alone(EVEN)
    assert leader.outcome == "local-moves-total"
    assert adviser.asked[0]["max_moves"] == 3
    leader = Leader(adviser.url, max_moves=4)
    first = leader.assign(EVEN)
    assert (leader.outcome, first) == ("remote-total", {"a": set(), "b": set()})
    second = leader.assign(group(first, {"orders": 4}))
    assert second == {"a": {("orders", 2), ("orders", 3)}, "b": {("orders", 0), ("orders", 1)}}


def test_a_claim_of_an_older_generation_makes_no_owner(adviser):
    """The first missed a rebalance and still claims what the second reads, who must revoke it first."""
    body = group({"a": [("t", 0)], "b": [("t", 0)]}, {"t": 2})
    for member, generation in zip(body["members"], (2, 3), strict=True):
        member |= {"generation_id": generation, "topic_names": ["t"]}
    adviser.fault = lambda *_: [("t", 0, "a"), ("t", 1, "b")]
    leader = Leader(adviser.url)
    assert leader.assign(body) == {"a": set(), "b": {("t", 1)}}
    assert leader.outcome == "remote-total"


def test_tls_trusts_the_authorities_that_are_given_and_a_token_file_is_read_anew(tmp_path):
    authority, trusted, own, token = trustme.CA(), tmp_path / "ca.pem", tmp_path / "own.pem", tmp_path / "token"
    authority.cert_pem.write_to_path(str(trusted))
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(own))
    with advising((str(own), str(own))) as adviser:
        leader = Leader(adviser.url)
        assert leader.assign(EVEN) == alone(EVEN)
        assert leader.outcome == "local-unreachable-total"
        leader = Leader(adviser.url, ssl_truststore_location=trusted, ssl_truststore_type="PEM", token_file=token)
        for text in ("t0", "t1"):
            token.write_text(f"{text}\n")
            leader.assign(EVEN)
            assert leader.outcome == "remote-total"
    assert adviser.tokens == ["Bearer t0", "Bearer t1"]


@pytest.mark.parametrize("seed", range(3))
def test_nothing_goes_straight_from_one_owner_to_another_and_everything_arrives(adviser, seed):
    """Whatever the service says, and whatever old generations claim: as kafka-clients demands of each answer."""
    draw = random.Random(seed)

    def anyhow(body, rows):
        return [(topic, i, draw.choice(body["members"])["member_id"]) for topic, i, _ in rows]

    for _ in range(25):
        topics = {f"t{i}": draw.randint(1, 6) for i in range(draw.randint(1, 3))}
        claims = {f"m{i}": [] for i in range(draw.randint(2, 5))}
        for topic, size in topics.items():
            for i in range(size):
                for member in draw.sample(sorted(claims), draw.choice([0, 1, 1, 1, 2])):
                    claims[member].append((topic, i))
        body = group(claims, topics)
        for member in body["members"]:
            member["generation_id"] = draw.choice([2, 3, 3])
        adviser.fault = draw.choice([None, faults(adviser)["503"][1], anyhow])
        leader = Leader(adviser.url)
        for generation in range(4, 9):
            assigned = leader.assign(body)
            check_revoked_first(body, assigned)
            if sum(map(len, assigned.values())) == sum(topics.values()):
                break
            body = group(assigned, topics, generation)
        else:
            pytest.fail("some partitions are never assigned")
