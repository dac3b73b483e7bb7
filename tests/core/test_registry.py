"""Plug-ins are found by name, loaded one at a time, and a broken one concerns nobody else."""

from __future__ import annotations

import sys

import pytest

from service.core.assignors import CLASSIC, model
from service.core.errors import PluginFailed, UnknownStrategy
from service.core.partitioners import PARTITIONERS
from service.core.registry import Registry
from service.strategies import GROUP_PROTOCOLS
from tests.support.plugins import install

GOOD = """
from service.core.assignors import Assignor
from service.core.assignors.model import by_name

def assign(partitions_per_topic, subscriptions):
    return {}

good = Assignor(name="good", run=by_name(assign), summary="Assigns nothing.")
"""


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder on the path, whose modules are forgotten at the end."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in sys.modules[name].__file__:
            del sys.modules[name]


def registry():
    return Registry("assignor", "partition_allocator.assignors.classic", CLASSIC, model.guard)


def test_names_are_listed_without_importing(site):
    install(site, "one", "assignors.classic", {"good": "allocator_good:good"}, allocator_good=GOOD)
    names = registry().names()
    assert names == ("range", "roundrobin", "sticky", "cooperative-sticky", "good")
    assert "allocator_good" not in sys.modules


def test_one_name_loads_one_plugin(site):
    install(site, "one", "assignors.classic", {"good": "allocator_good:good"}, allocator_good=GOOD)
    install(site, "two", "assignors.classic", {"other": "allocator_other:good"}, allocator_other=GOOD)
    assert registry()["good"].summary == "Assigns nothing."
    assert registry()["range"] is CLASSIC[0]
    assert "allocator_other" not in sys.modules


def test_plugins_follow_the_builtins_in_the_list(site):
    install(site, "one", "assignors.classic", {"good": "allocator_good:good"}, allocator_good=GOOD)
    assert [assignor.name for assignor in registry()][-2:] == ["cooperative-sticky", "good"]


def test_an_unknown_name_lists_the_known_ones(site):
    install(site, "one", "assignors.classic", {"good": "allocator_good:good"}, allocator_good=GOOD)
    with pytest.raises(UnknownStrategy, match="cooperative-sticky, good"):
        registry()["goood"]


def test_a_builtins_name_stays_the_builtins(site, caplog):
    install(site, "one", "assignors.classic", {"range": "allocator_good:good"}, allocator_good=GOOD)
    offered = registry()
    assert list(offered) == list(CLASSIC)
    assert offered["range"] is CLASSIC[0]
    assert caplog.messages == ["The assignor plug-in 'range' (one 1.0) is left out: 'range' is a built-in assignor."]


def test_two_plugins_of_one_name_are_both_refused(site):
    install(site, "one", "assignors.classic", {"good": "allocator_good:good"}, allocator_good=GOOD)
    install(site, "two", "assignors.classic", {"good": "allocator_good:good"})
    with pytest.raises(PluginFailed, match=r"'good' \((one 1.0, two 1.0|two 1.0, one 1.0)\).*more than one distribution"):
        registry()["good"]


BROKEN = {
    "import no_such_module": "ModuleNotFoundError: No module named 'no_such_module'",
    "import sys; sys.exit('not today')": "SystemExit: not today",
    "": "AttributeError: .*has no attribute 'good'",
    "good = 7": "TypeError: allocator_broken:good must be of the type Assignor, not int",
    GOOD.replace('name="good"', 'name="better"'): "ValueError: .*'better'",
    GOOD.replace("summary=", "forms={'4.4.0': {}}, summary="): "ValueError: forms",
    GOOD.replace('"Assigns nothing."', "b'Assigns nothing.'"): "TypeError: summary must be str",
}


@pytest.mark.parametrize(("source", "reason"), BROKEN.items())
def test_a_broken_plugin_is_left_out_and_named_when_asked_for(site, caplog, source, reason):
    install(site, "one", "assignors.classic", {"good": "allocator_broken:good"}, allocator_broken=source)
    install(site, "two", "assignors.classic", {"sound": "allocator_good:good"}, allocator_good=GOOD.replace('"good"', '"sound"'))
    offered = registry()
    for _ in range(2):
        assert [assignor.name for assignor in offered] == [*(builtin.name for builtin in CLASSIC), "sound"]
        with pytest.raises(PluginFailed, match=rf"^The assignor plug-in 'good' \(one 1\.0\) cannot be loaded: {reason}"):
            offered["good"]
    assert len(caplog.messages) == 1


@pytest.fixture
def offered(site, monkeypatch):
    """A broken plug-in and one that assigns nothing, installed in the service."""
    install(site, "one", "assignors.classic", {"broken": "allocator_broken:good"}, allocator_broken="import no_such_module")
    raising = "\nraising = Assignor(name='raising', run=lambda group: 1 / 0, summary='')\n"
    both = {"good": "allocator_good:good", "raising": "allocator_good:raising"}
    install(site, "two", "assignors.classic", both, allocator_good=GOOD + raising)
    monkeypatch.setitem(GROUP_PROTOCOLS, "classic", registry())


BODY = {"topics": [{"topic_name": "t", "partitions_count": 2}], "members": [{"member_id": "c1"}]}
PROBLEMS = {
    "broken": ("plugin-failed", "The assignor plug-in 'broken' (one 1.0) cannot be loaded: ModuleNotFoundError: No module named"),
    "raising": ("plugin-failed", "The assignor plug-in 'raising' (two 1.0) raised ZeroDivisionError: division by zero"),
    "good": (
        "plugin-broke-a-rule",
        "The assignor plug-in 'good' (two 1.0) broke a rule: partition 0 of topic 't' has subscribers and is assigned to none",
    ),
}


@pytest.mark.usefixtures("offered")
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_plugins_fault_is_a_problem_document_that_names_it(client, name):
    response = client.post("/v1/group-assignments", json=BODY | {"assignor": name})
    kind, detail = PROBLEMS[name]
    assert (response.status_code, response.mimetype) == (500, "application/problem+json")
    assert response.json["type"] == f"urn:partition-allocator:problem:{kind}"
    assert response.json["detail"].startswith(detail)


@pytest.mark.usefixtures("offered")
def test_the_other_assignors_answer_and_are_listed_beside_a_broken_one(client):
    assert client.post("/v1/group-assignments", json=BODY | {"assignor": "range"}).status_code == 200
    listed = [one["assignor"] for one in client.get("/v1/assignors").json["assignors"] if one["group_protocol"] == "classic"]
    assert listed == ["range", "roundrobin", "sticky", "cooperative-sticky", "good", "raising"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("confluent-kafka-python", "librdkafka:consistent_random"),
        ("Confluent", "librdkafka:consistent_random"),
        ("librdkafka:murmur", "librdkafka:murmur2"),
        ("kafka-pyhton", "kafka-python"),
        ("murmur2", "java"),
        ("default", "java"),
        ("Java", "java"),
        ("java:murmur2", "java"),
        ("murmur2_random", "librdkafka:murmur2_random"),
        ("consistent", "librdkafka:consistent"),
        ("librdkafka:default", "librdkafka:consistent_random"),
        ("librdkafka:crc32", "librdkafka:consistent_random"),
        ("crc32", "librdkafka:consistent_random', 'sarama:crc32' or 'kafka-go:crc32"),
        ("fnv1a", "sarama' or 'librdkafka:fnv1a"),
        ("FNV-1a", "sarama"),
        ("go", "librdkafka:consistent_random', 'sarama' or 'kafka-go:round-robin"),
        ("python", "librdkafka:consistent_random', 'kafka-python' or 'aiokafka"),
        ("sticky", "java:sticky"),
    ],
)
def test_an_unknown_partitioner_is_met_with_the_one_that_may_be_meant(name, meant):
    with pytest.raises(UnknownStrategy, match=f"Did you mean '{meant}'"):
        PARTITIONERS[name]


@pytest.mark.parametrize("name", ["", ":", "::", "…", "librdkafka:", "x"])
def test_a_name_without_words_means_nothing_in_particular(name):
    with pytest.raises(UnknownStrategy, match="There is no partitioner"):
        PARTITIONERS[name]
