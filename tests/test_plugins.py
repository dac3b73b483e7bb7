"""Installed plug-ins, over HTTP, on the command line and in Spark: ``examples/plugin``, and the tutorial in docs/extending.md."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import requests

from tests.support.golden import PROJECT
from tests.support.jvm import short_lived_spark
from tests.support.plugins import install
from tests.support.programs import program
from tests.support.serving import serving

pytestmark = pytest.mark.slow

TUTORIAL = (PROJECT / "docs" / "extending.md").read_text().partition("\n## A kit for")[0]
FILES = dict(re.findall(r"^`([\w.]+)`:\n\n```\w+\n(.*?)^```", TUTORIAL, re.DOTALL | re.MULTILINE))
CONSOLE = "".join(re.findall(r"^```console\n(.*?)^```", TUTORIAL, re.DOTALL | re.MULTILINE))
COMMANDS = re.findall(r"^\$ (.*)\n((?:[^$].*\n)*)", CONSOLE, re.MULTILINE)

GROUP = {
    "assignor": "heaviest-first",
    "topics": [
        {"topic_name": "orders", "partitions_count": 3, "partition_weights": [1, 5, 3]},
        {"topic_name": "users", "partitions_count": 1, "partition_weights": [2]},
    ],
    "members": [{"member_id": "a"}, {"member_id": "b", "topic_names": ["orders"]}],
}
ASSIGNED = {"a": {"orders": [1], "users": [0]}, "b": {"orders": [0, 2]}}
KEYS = {"partitioner": "tenant", "partitions_count": 12, "keys": ["acme:1", "acme:2", "acme", "globex:1"]}
BROKERS = [{"broker_id": 10 + i, "rack_id": "abc"[i % 3]} for i in range(6)]
TOPIC = {"placer": "leaders-on-one-rack", "partitions_count": 3, "replication_factor": 3, "brokers": BROKERS}


def assignments(answer):
    return {
        one["member_id"]: {part["topic_name"]: part["partition_ids"] for part in one["partitions"]}
        for one in answer["assignments"]
    }


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> dict[str, str]:
    """The variables of processes in which the example, the tutorial's assignor and a faulty assignor are installed."""
    site, folder = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("tutorial")
    # Without a network, and not into the environment of the tests. =0 is pip's way to say --no-build-isolation.
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    variables = {
        **offline,
        "PIP_TARGET": str(site),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": f"{PROJECT}:{site}",
    }
    everything = {**os.environ, **variables}
    subprocess.run(["pip", "install", "--quiet", str(PROJECT / "examples" / "plugin")], env=everything, check=True)
    for command, _ in COMMANDS:
        if command.startswith(("mkdir", "pip")):
            script = f"{command} && pwd"
            done = subprocess.run(["bash", "-ec", script], cwd=folder, env=everything, check=True, capture_output=True, text=True)
            folder = Path(done.stdout.splitlines()[-1])
            for name, text in FILES.items():
                (folder / name).write_text(text)
    twice = "lambda counts, subscriptions: {member: [('orders', 0)] for member in subscriptions}"
    source = (
        "from service.core.assignors import Assignor\n"
        "from service.core.assignors.model import by_name\n"
        f"twice = Assignor(name='twice', run=by_name({twice}), summary='')\n"
    )
    entry_points = {"twice": "allocator_faulty:twice", "absent": "allocator_faulty_absent:absent"}
    install(site, "faulty", "assignors.classic", entry_points, allocator_faulty=source)
    source = (
        "from dataclasses import replace\n"
        "from service.core.partitioners import PARTITIONERS\n"
        "from service.core.partitioners.model import Hash\n"
        "hashes = Hash('nothing', lambda keys, key_format: keys[0])\n"
        "indexing = replace(PARTITIONERS.builtins[0], name='indexing', hash=hashes)\n"
    )
    install(site, "faulty_hash", "partitioners", {"indexing": "allocator_indexing:indexing"}, allocator_indexing=source)
    return variables


FAULTY = "The assignor plug-in 'twice' (faulty 1.0)"
TWICE = f"{FAULTY} broke a rule: partition 0 of topic 'orders' is assigned to the members 'a' and 'b'."


@pytest.fixture(scope="module")
def server(environment):
    with serving(**environment, ALLOCATOR_AUTH="off", ALLOCATOR_WORKERS="1") as running:
        yield running


def test_the_tutorial_leads_to_its_answer(server):
    program("curl")
    assert [command.split()[0] for command, _ in COMMANDS] == ["mkdir", "pip", "partition-allocator", "curl"]
    command, shown = COMMANDS[-1]
    local = shlex.split(command.replace("localhost:8000", server.url))
    answer = json.loads(subprocess.run(local, check=True, capture_output=True, text=True).stdout)
    assert answer == json.loads(shown)


def test_the_lists_name_the_plugins_that_can_be_loaded(server):
    def names(kind):
        return [one[kind] for one in requests.get(f"{server.url}/v1/{kind}s", timeout=120).json()[f"{kind}s"]]

    assert {"heaviest-first", "failover", "twice"} < set(names("assignor"))
    assert "absent" not in names("assignor")
    assert "tenant" in names("partitioner")
    assert "leaders-on-one-rack" in names("placer")


def test_the_example_over_http(server):
    def post(path, body):
        response = requests.post(f"{server.url}/v1/{path}", json=body, timeout=120)
        assert response.status_code == 200, response.text
        return response.json()

    assert assignments(post("group-assignments", GROUP)) == ASSIGNED
    java = post("partitions", {"partitions_count": 12, "keys": ["acme", "globex"]})["partitions"]
    assert post("partitions", KEYS)["partitions"] == [*java[:1] * 3, java[1]]
    placed = post("replica-placements", TOPIC)["placements"]
    assert [one["replicas"] for one in placed] == [[10, 11, 12], [13, 12, 14], [10, 14, 15]]


@pytest.mark.parametrize(
    ("assignor", "kind", "detail"), [("twice", "plugin-broke-a-rule", TWICE), ("absent", "plugin-failed", "")]
)
def test_a_fault_over_http(server, assignor, kind, detail):
    response = requests.post(f"{server.url}/v1/group-assignments", json=GROUP | {"assignor": assignor}, timeout=120)
    assert response.status_code == 500
    assert response.json()["type"] == f"urn:partition-allocator:problem:{kind}"
    assert response.json()["detail"].startswith(detail or "The assignor plug-in 'absent' (faulty 1.0) cannot be loaded")


def run(environment, *arguments, **body):
    """The command with these arguments and, on standard input, this body."""
    return subprocess.run(
        [sys.executable, "-m", "service", *arguments],
        input=json.dumps(body),
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_example_on_the_command_line(environment):
    assert assignments(json.loads(run(environment, "assign", **GROUP).stdout)) == ASSIGNED
    assert len(set(json.loads(run(environment, "partitions", **KEYS).stdout)["partitions"][:3])) == 1
    assert json.loads(run(environment, "place", **TOPIC).stdout)["placements"][0]["replicas"] == [10, 11, 12]


def test_a_fault_on_the_command_line(environment):
    done = run(environment, "assign", **GROUP | {"assignor": "twice"})
    assert (done.returncode, done.stdout, done.stderr.splitlines()[-1]) == (2, "", f"Error: {TWICE}")


JOBS = """
import json, sys
from click.testing import CliRunner
from service.cli import main
from service.pipeline.spark.cluster.session import spark_session
with spark_session("plugins", master="local[2]"):
    done = [CliRunner().invoke(main, ["pipeline", *arguments]) for arguments in json.loads(sys.argv[1])]
print(json.dumps([[each.exit_code, each.output] for each in done]))
"""
"""Several jobs of one session, for the sake of the tests' time."""


@pytest.fixture(scope="module")
def results(environment, tmp_path_factory):
    """The folder with the results of three jobs, and the exit status and the output of each."""
    folder = tmp_path_factory.mktemp("jobs")
    (folder / "groups.jsonl").write_text(json.dumps({"group_id": "g", **GROUP}) + "\n")
    (folder / "topics.jsonl").write_text(json.dumps({"topic_name": "t", **TOPIC}) + "\n")
    (folder / "keys.csv").write_text("key\n" + "acme:1\nacme:2\nacme:3\n" * 10)
    skew = ["skew", f"{folder}/keys.csv", "--partitions", "12"]
    assignors = ["--assignor", "twice", "--assignor", "failover"]
    jobs = [
        ["fleet", f"{folder}/groups.jsonl", "--topics", f"{folder}/topics.jsonl", *assignors, "--into", f"{folder}/fleet"],
        [*skew, "--partitioner", "tenant", "--into", f"{folder}/skew"],
        [*skew, "--partitioner", "indexing", "--into", f"{folder}/fault"],
    ]
    command = [sys.executable, "-c", JOBS, json.dumps(jobs)]
    variables = {**os.environ, **environment, **short_lived_spark()}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout.splitlines()[-1])


def test_the_example_and_a_fault_in_a_fleet(results):
    folder, ((status, output), *_) = results
    assert status == 0, output
    rows = {row["assignor"]: row for row in pq.read_table(folder / "fleet" / "assignments.parquet").to_pylist()}
    assert assignments(rows["heaviest-first"]) == ASSIGNED
    assert (rows["twice"]["error"], rows["twice"]["detail"]) == ("PluginBrokeARule", TWICE)
    assert rows["failover"]["max"] == 4
    placed = pq.read_table(folder / "fleet" / "placements.parquet").to_pylist()
    assert [one["replicas"] for one in placed[0]["placements"]] == [[10, 11, 12], [13, 12, 14], [10, 14, 15]]


def test_the_example_and_a_fault_in_a_scan_of_keys(results):
    folder, (_, (status, output), (fault, text)) = results
    assert status == 0, output
    plans = pq.read_table(folder / "skew" / "plans.parquet").to_pylist()
    assert [(plan["partitioner"], plan["records_skew"]) for plan in plans] == [("tenant", 12.0)]  # all on one of 12 partitions
    assert fault == 2
    assert "The partitioner plug-in 'indexing' (faulty_hash 1.0) raised TypeError" in text
