"""Each rule that a plug-in's answer can break is an error that names the plug-in and the place; sound answers pass unchanged."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings

from service.core import placers
from service.core.assignors import model as plugins
from service.core.assignors.model import Subscription, by_name
from service.core.errors import IllegalArgument, InvalidReplicationFactor, PluginBrokeARule, PluginFailed
from service.core.jvm.random import JavaRandom
from service.core.model import Assignment, Cluster, PlacementRequest, Ragged
from service.core.partitioners import BUILTINS, PARTITIONERS, Answer, Question, allocate
from service.core.partitioners import model as partitioner_plugins
from service.core.partitioners.model import Hash
from service.core.partitioners.murmur2 import MURMUR2
from service.core.registry import BrokenRule, Plugin
from service.strategies import GROUP_PROTOCOLS, PLACERS, Assignor
from tests.support.groups import bodies, group_of
from tests.support.questions import keys_of

PLUGIN = Plugin("assignor", "mine", ("mine 1.0",))


def ragged(*rows):
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int32)
    return Ragged(offsets, np.array([value for row in rows for value in row], np.int32))


# ---- assignors: topics t (partitions 0, 1, 2) and u (3, 4); a subscribes to both, b to t -----------------------------------

GROUP = group_of(
    {
        "topics": [{"topic_name": "t", "partitions_count": 3}, {"topic_name": "u", "partitions_count": 2}],
        "members": [{"member_id": "a", "topic_names": ["u", "t", "unknown"]}, {"member_id": "b", "topic_names": ["t"]}],
    }
)


def assign(answer, *, sharing=False):
    run = answer if callable(answer) else lambda group: answer  # noqa: ARG005
    assignor = Assignor(name="mine", run=run, summary="")
    return plugins.guard(assignor, PLUGIN, sharing=sharing).run(GROUP)


SOUND = ragged([3, 0, 4], [2, 1])
RULES = [
    (None, "it returned a NoneType, not an Assignment"),
    (SOUND, "it returned a Ragged, not an Assignment"),
    (Assignment([[0]]), "rows and withheld must be Ragged"),
    (Assignment(Ragged(SOUND.offsets, SOUND.values * 1.0)), "rows and withheld must be Ragged, of one-dimensional integer"),
    (Assignment(ragged([3, 0, 4, 2, 1])), "offsets must be 3 ascending integers"),
    (Assignment(Ragged(np.array([0, 6, 5]), SOUND.values)), "offsets must be 3 ascending integers"),
    (Assignment(Ragged(np.array([0, 3, 4]), SOUND.values)), "offsets must be 3 ascending integers"),
    (Assignment(ragged([3, 0, 4], [2, 1, 5])), r"partition 5 of member 'b' is not in \[0, 5\)"),
    (Assignment(ragged([3, -1, 4], [2, 1])), r"partition -1 of member 'a' is not in \[0, 5\)"),
    (Assignment(ragged([0], [2, 3, 1])), "partition 0 of topic 'u' is assigned to member 'b', which does not subscribe"),
    (Assignment(ragged([3, 0, 4], [2, 0, 1])), "partition 0 of topic 't' is assigned to the members 'a' and 'b'"),
    (Assignment(ragged([3, 0, 4], [2, 1, 1])), "partition 1 of topic 't' is assigned twice to member 'b'"),
    (Assignment(SOUND, withheld=ragged([2], [])), "partition 2 of topic 't' is assigned to the members 'a' and 'b'"),
    (Assignment(ragged([3, 0], [2, 1])), "partition 1 of topic 'u' has subscribers and is assigned to none of them"),
]


@pytest.mark.parametrize(("answer", "rule"), RULES)
def test_an_assignor_that_breaks_a_rule(answer, rule):
    with pytest.raises(PluginBrokeARule, match=rf"^The assignor plug-in 'mine' \(mine 1\.0\) broke a rule: {rule}"):
        assign(answer)


def test_members_of_a_share_group_share_a_partition_but_none_has_it_twice():
    assert assign(Assignment(ragged([3, 0, 4], [2, 1, 0])), sharing=True).rows.values.tolist() == [3, 0, 4, 2, 1, 0]
    with pytest.raises(PluginBrokeARule, match="partition 1 of topic 't' is assigned twice to member 'b'"):
        assign(Assignment(ragged([3, 0, 4], [2, 1, 1])), sharing=True)


def test_members_of_a_share_group_keep_owned_partitions_without_subscribers():
    """Kafka's own assignor leaves it with them, where the members subscribe to different topics."""
    owned = [{"topic_name": "u", "partition_ids": [0]}]
    group = group_of(
        {
            "topics": [{"topic_name": "t", "partitions_count": 2}, {"topic_name": "u", "partitions_count": 2}],
            "members": [
                {"member_id": "a", "topic_names": ["t"], "owned_partitions": owned},
                {"member_id": "b", "topic_names": ["t", "unknown"]},
            ],
        }
    )
    kept = GROUP_PROTOCOLS["share"]["simple"].run(group)
    assert max(kept.rows.row(0)) == 2
    assert plugins.checked(kept, group, sharing=True).rows.values.tolist() == kept.rows.values.tolist()
    for rows, sharing in ((kept.rows, False), (ragged([0], [1, 2]), True), (ragged([0, 3], [1]), True)):
        with pytest.raises(BrokenRule, match=r"of topic 'u' is assigned to member '[ab]', which does not subscribe to the topic"):
            plugins.checked(Assignment(rows), group, sharing=sharing)


def test_wider_integers_become_the_cores_and_withheld_partitions_count():
    wide = Ragged(np.array([0, 2, 4]), np.array([3, 0, 2, 1]))
    assignment = assign(Assignment(wide, withheld=ragged([4], [])))
    assert assignment.rows.values.dtype == assignment.rows.offsets.dtype == np.int32
    assert assignment.withheld.values.tolist() == [4]


def test_an_assignor_that_raises():
    with pytest.raises(PluginFailed, match=r"^The assignor plug-in 'mine' \(mine 1\.0\) raised ZeroDivisionError: "):
        assign(lambda _: 1 / 0)


def test_a_refusal_in_the_cores_words_stays_a_refusal():
    def refuse(_):
        raise IllegalArgument("no")

    with pytest.raises(IllegalArgument, match="no"):
        assign(refuse)


@pytest.mark.parametrize(("protocol", "name"), [("classic", "range"), ("classic", "cooperative-sticky"), ("share", "simple")])
@given(bodies(min_members=1, sound=True))
@settings(max_examples=50)
def test_kafkas_own_answers_obey_the_rules(protocol, name, body):
    group = group_of(body)
    assignment = GROUP_PROTOCOLS[protocol][name].run(group)
    checked = plugins.checked(assignment, group, sharing=protocol == "share")
    assert checked.rows.values.tolist() == assignment.rows.values.tolist()
    assert checked.rows.offsets.tolist() == assignment.rows.offsets.tolist()


# ---- assignors by name -----------------------------------------------------------------------------------------------------


def test_an_assignor_by_name_gets_and_gives_what_kafkas_do():
    topics = [{"topic_name": "u", "partitions_count": 1}, {"topic_name": "t", "partitions_count": 2}]
    owned = [{"topic_name": "t", "partition_ids": [1, 7]}]
    members = [
        {"member_id": "b", "topic_names": ["gone", "t"], "owned_partitions": owned, "generation_id": 3, "instance_id": "i"},
        {"member_id": "a", "rack_id": "r"},
    ]
    group = group_of({"topics": topics, "members": members})
    calls = []

    def record(*arguments):
        calls.append(arguments)
        return {"a": [("u", 0), ("t", 0)], "b": [("t", 1)]}

    assert by_name(record)(group).rows.values.tolist() == [1, 2, 0]
    b = Subscription(["gone", "t"], [("t", 1), ("t", 7)], generation_id=3, rack_id=None, group_instance_id="i")
    a = Subscription(["t", "u"], [], generation_id=-1, rack_id="r", group_instance_id=None)
    assert calls == [({"t": 2, "u": 1}, {"b": b, "a": replace(a, topics=calls[0][1]["a"].topics)})]
    assert sorted(calls[0][1]["a"].topics) == a.topics


BY_NAME = [
    ({"c": []}, "member 'c' does not exist"),
    ({"a": [("t", 3)]}, "partition 3 of topic 't', assigned to member 'a', does not exist"),
    ({"a": [("t", -1)]}, "partition -1 of topic 't', assigned to member 'a', does not exist"),
    ({"a": [("unknown", 0)]}, "partition 0 of topic 'unknown', assigned to member 'a', does not exist"),
    ({"a": [("u", 0), ("u", 1)]}, "partition 0 of topic 't' has subscribers and is assigned to none of them"),
]


@pytest.mark.parametrize(("answer", "rule"), BY_NAME)
def test_an_assignor_by_name_that_breaks_a_rule(answer, rule):
    with pytest.raises(PluginBrokeARule, match=f"broke a rule: {rule}"):
        assign(by_name(lambda *_: answer))


@pytest.mark.parametrize("answer", [7, {"a": [5]}, {"a": [("t", None)]}])
def test_an_assignor_by_name_whose_answer_has_another_form(answer):
    with pytest.raises(PluginFailed, match="raised TypeError"):
        assign(by_name(lambda *_: answer))


# ---- partitioners ----------------------------------------------------------------------------------------------------------

JAVA, ROUND_ROBIN = PARTITIONERS["java"], PARTITIONERS["java:round-robin"]


def guard_partitioner(partitioner):
    return partitioner_plugins.guard(partitioner, Plugin("partitioner", "mine", ("mine 1.0",)), builtins=BUILTINS)


def allocated(partitioner, **options):
    question = Question(4, keys_of([b"a", b"b", None]), **options)
    return allocate(guard_partitioner(partitioner), question).partitions.tolist()


HASHES = [[1, 2, 3], np.zeros(3), np.zeros(3, np.int64), np.zeros(2, np.int32), np.zeros((3, 1), np.int32)]


@pytest.mark.parametrize("hashes", HASHES)
def test_a_hash_function_that_breaks_a_rule(hashes):
    broken = replace(JAVA, hash=Hash("mine", lambda *_: hashes))
    with pytest.raises(PluginBrokeARule, match="broke a rule: the hash function must return an array of 3 int32"):
        allocated(broken)


def test_a_hash_function_is_used_with_a_builtin_rule():
    mine = replace(JAVA, hash=Hash("mine", lambda keys, _: np.full(len(keys), -2, np.int32)))
    assert allocated(mine)[:2] == [2, 2]  # -2 & 0x7fffffff is 2 modulo 4


def test_a_builtin_hash_keeps_its_partitioner_in_the_class_of_the_builtins():
    assert guard_partitioner(JAVA).hash is MURMUR2


ANSWERS = [
    (np.zeros(3, np.int32), "it returned a ndarray, not an Answer"),
    (Answer([0, 0, 0]), "partitions must be an array of 3 integers"),
    (Answer(np.zeros(2, np.int32)), "partitions must be an array of 3 integers"),
    (Answer(np.array([0, 4, 9])), r"partition 4 of record 1 is not in \[0, 4\)"),
    (Answer(np.array([0, 3, -1])), r"partition -1 of record 2 is not in \[0, 4\)"),
]


@pytest.mark.parametrize(("answer", "rule"), ANSWERS)
def test_a_partitioner_that_breaks_a_rule(answer, rule):
    with pytest.raises(PluginBrokeARule, match=f"broke a rule: {rule}"):
        allocated(replace(ROUND_ROBIN, run=lambda *_: answer))


def test_what_a_partitioner_gives_where_the_caller_names_the_partition_does_not_matter():
    mine = replace(ROUND_ROBIN, run=lambda *_: Answer(np.array([0, 99, 1])))
    given = np.array([False, True, False])
    assert allocated(mine, explicit=np.array([0, 2, 0], np.int32), explicit_given=given) == [0, 2, 1]


PARTS = {"run": lambda *_: None, "sign": None, "encoding": None, "explicit": None, "null": replace(JAVA.null, rule="mine")}


@pytest.mark.parametrize("part", ["run", "encoding", "explicit", "null"])
def test_a_partitioner_that_hashes_has_only_the_hash_of_its_own(part):
    with pytest.raises(ValueError, match=f"{part} must be that of a built-in"):
        guard_partitioner(replace(JAVA, **{part: PARTS[part]}))


# ---- placers ---------------------------------------------------------------------------------------------------------------

CLUSTER = Cluster(np.array([10, 11, 12], np.int32), (), np.full(3, -1, np.int32), np.zeros(3, np.bool_))
REQUEST = PlacementRequest(2, 2, start_partition_id=5)


def place(answer, request=REQUEST):
    placer = replace(PLACERS["modulo"], run=answer if callable(answer) else lambda *_: answer)
    return placers.guard(placer, Plugin("placer", "mine", ("mine 1.0",))).run(CLUSTER, request, JavaRandom(0))


PLACEMENTS = [
    ([[0, 1], [1, 2]], "it returned a list, not an array of integers"),
    (np.zeros((2, 2)), "it returned a ndarray, not an array of integers"),
    (np.array([[0, 1]]), r"the shape of the placement is \(1, 2\), not \(2, 2\)"),
    (np.array([[0, 1], [1, 3]]), r"partition 6 is placed on broker index 3, which is not in \[0, 3\)"),
    (np.array([[-1, 1], [1, 2]]), r"partition 5 is placed on broker index -1, which is not in \[0, 3\)"),
    (np.array([[0, 1], [2, 2]]), "partition 6 has two replicas on broker 12"),
]


@pytest.mark.parametrize(("answer", "rule"), PLACEMENTS)
def test_a_placer_that_breaks_a_rule(answer, rule):
    with pytest.raises(PluginBrokeARule, match=rf"^The placer plug-in 'mine' \(mine 1\.0\) broke a rule: {rule}"):
        place(answer)


@pytest.mark.parametrize("parts", [{"requests": ("operations",)}, {"forms": {"4.4.0": {}}}])
def test_a_placer_cannot_answer_for_a_controller_or_for_kafkas_releases(parts):
    with pytest.raises(ValueError, match=r"(requests must|forms are)"):
        placers.guard(replace(PLACERS["modulo"], **parts), Plugin("placer", "mine", ("mine 1.0",)))


def test_a_sound_placement_becomes_the_cores():
    placement = place(np.array([[0, 1], [2, 1]]))
    assert (placement.dtype, placement.tolist()) == (np.int32, [[0, 1], [2, 1]])


def test_counts_that_no_cluster_can_hold_never_reach_a_placer():
    with pytest.raises(InvalidReplicationFactor):
        place(partial(pytest.fail, "the placer ran"), replace(REQUEST, replication_factor=4))
