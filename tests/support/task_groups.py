"""Random groups of Kafka Connect and Streams, and the real classes beside them."""

from __future__ import annotations

import atexit
import json
import subprocess
import uuid
from functools import cache
from typing import TYPE_CHECKING, Any

from service.api.connect import FORM as CONNECT
from service.api.streams import FORM as STREAMS
from service.clients.streams.classic import LEADERS
from service.clients.streams.classic.racks import STRATEGIES
from service.conformance.connect import connect_group
from service.core.budget import Budget
from service.core.kafka_versions import LATEST
from tests.support.jvm import COMPARED, connect_jars, streams_jars
from tests.support.parity import JAVA, command, coordinator_jars

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

Body = dict[str, Any]


class Program:
    """A running program of ``tests/support/java`` that reads a JSON document a line and answers with one."""

    def __init__(self, program: str, *coordinates: str, java: Sequence[str] = JAVA) -> None:
        self._process = subprocess.Popen(
            command(program, *coordinates, java=java),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        atexit.register(self.close)

    def close(self) -> None:
        """End the program."""
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def ask(self, question: Any) -> Any:
        """The program's answer."""
        self._process.stdin.write(json.dumps(question).encode() + b"\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


@cache
def connect_workers(release: str = LATEST) -> Program:
    """Connect's real workers. All tests share them."""
    return Program("connect/ConnectWorkers.java", *connect_jars(release))


def connect_rounds(random: Random) -> Body:
    """A Connect group through some rebalances, and its release."""
    return {**connect_group(random), "kafka_version": random.choice(COMPARED)}


def connect_differs(body: Body) -> str | None:
    """Where our answer to a Connect group is not that of the real workers; None: nowhere."""
    ours = CONNECT.document(CONNECT.decide(CONNECT.question(body), Budget()))
    theirs = connect_workers(ours["kafka_version"]).ask(body)
    for i, (our, their) in enumerate(zip(ours["rounds"], theirs["rounds"], strict=True)):
        told = [{name: value for name, value in row.items() if not name.endswith("_base64")} for row in their["assignments"]]
        if our["assignments"] != told:
            return f"round {i}: {json.dumps(our['assignments'])} instead of {json.dumps(told)}"
    return None


@cache
def streams_coordinator(release: str) -> Program:
    """The broker's task assignor. All tests share it."""
    return Program("StreamsCoordinator.java", *coordinator_jars(release))


def streams_group(random: Random) -> Body:
    """A Streams group, whose members sometimes have tasks as no assignor has left them, and its release."""
    name = random.choice(("m{}", "member-{:02d}", "{:022x}", "é{}", "😀{}", "ﬀ{}")).format
    process = random.choice(("p{}", "process-{}", "{:032x}")).format
    wide = random.random() < 0.1
    processes = [process(random.randrange(2**32)) for _ in range(random.randint(1, 25 if wide else 9))]
    subtopologies = [
        {
            "subtopology_id": str(i),
            "tasks_count": random.randint(1, random.choice((2, 6, 40))),
            "stateful": random.random() < 0.6,
        }
        for i in random.sample(range(14), random.randint(1, 5))
    ]
    members = [
        {"member_id": name(number), "process_id": random.choice(processes)}
        for number in random.sample(range(10_000), random.randint(1, 60 if wide else 14))
    ]
    body = {
        "group_protocol": "streams",
        "assignor": "sticky",
        "kafka_version": random.choice(COMPARED),
        "num_standby_replicas": random.choice((0, 0, 1, 1, 2, 3)),
        "subtopologies": subtopologies,
        "members": members,
    }
    if random.random() < 0.7:
        _own(random, body)
    return body


def _own(random: Random, body: Body) -> None:
    """Let members have had most tasks; now and then several had one as active, or a task does not exist."""
    members, untidy = body["members"], random.random() < 0.2
    for subtopology in body["subtopologies"]:
        name = subtopology["subtopology_id"]
        for task in range(subtopology["tasks_count"] + (untidy and random.randrange(3))):
            owners = random.sample(members, min(len(members), random.randint(0, 3 + untidy)))
            for i, member in enumerate(owners):
                kind = "active_tasks" if i == 0 or (untidy and random.random() < 0.2) else "standby_tasks"
                member.setdefault(kind, []).append({"subtopology_id": name, "task_ids": [task]})
                if subtopology["stateful"] and random.random() < 0.4:
                    offset = random.choice((0, 5, 7, 2**40))
                    member.setdefault("task_offsets", []).append({"subtopology_id": name, "task_id": task, "offset": offset})


def streams_differs(body: Body) -> str | None:
    """Where our answer to a Streams group is not that of the real assignor; None: nowhere."""
    ours = STREAMS.document(STREAMS.decide(STREAMS.question(body), Budget()))["assignments"]
    theirs = streams_coordinator(body["kafka_version"]).ask(body)["assignments"]
    return None if ours == theirs else f"{json.dumps(ours)} instead of {json.dumps(theirs)}"


@cache
def streams_leader(release: str) -> Program:
    """The task assignors of classic Streams groups. All tests share them."""
    return Program("StreamsLeader.java", *streams_jars(release))


def streams_clients(random: Random) -> Body:
    """A classic Streams group, whose clients had most tasks, or (now and then) had them as no assignor leaves them."""
    wide = random.random() < 0.1
    untidy = random.random() < 0.2
    tagged = random.random() < 0.3
    clients: list[Body] = [
        {
            "process_id": str(uuid.UUID(int=random.getrandbits(128) >> random.choice((0, 0, 60)))),
            "threads_count": random.choice((1, 1, 2, 4)),
            "client_tags": {"zone": random.choice("abc"), "cluster": random.choice("xy")} if tagged else {},
            "active_tasks": [],
            "standby_tasks": [],
            "lags": [],
        }
        for _ in range(random.randint(1, 40 if wide else 8))
    ]
    subtopologies = [
        {"subtopology_id": str(i), "tasks_count": random.randint(1, random.choice((2, 6, 24))), "stateful": random.random() < 0.7}
        for i in random.sample(range(14), random.randint(1, 4))
    ]
    most = random.choice((100, 10_000, 2 * 10**6))
    for subtopology in subtopologies:
        name = subtopology["subtopology_id"]
        for task in range(subtopology["tasks_count"]):
            owners = random.sample(clients, min(len(clients), random.randint(0, 3)))
            for i, client in enumerate(owners):
                kind = "active_tasks" if i == 0 or (untidy and random.random() < 0.2) else "standby_tasks"
                client[kind].append({"subtopology_id": name, "task_ids": [task]})
            for client in clients if subtopology["stateful"] else ():
                runs = owners and client is owners[0] and random.random() < 0.9
                lag = -2 if runs else random.choice((0, 5, 100, random.randrange(most), -3 if untidy else most))
                client["lags"].append({"subtopology_id": name, "task_id": task, "lag": lag})
    body = {
        "group_protocol": "streams",
        "member_protocol": "classic",
        "assignor": random.choice(LEADERS).name,
        "kafka_version": random.choice(COMPARED),
        "num_standby_replicas": random.choice((0, 0, 1, 1, 2, 3)),
        "max_warmup_replicas": random.choice((1, 2, 2, 10)),
        "acceptable_recovery_lag": random.choice((0, 100, 10_000, 2**63 - 1)),
        "rack_aware_assignment_tags": random.choice(([], ["zone"], ["zone", "cluster"], ["cluster", "other"])),
        "subtopologies": subtopologies,
        "clients": clients,
    }
    if random.random() < 0.7:
        _add_racks(random, body)
    return body


def _add_racks(random: Random, body: Body) -> None:
    """A strategy for racks, and the racks of topics and clients; now and then one that is not known."""
    racks = [f"rack-{i}" for i in range(random.choice((1, 2, 3, 3, 5)))]
    untidy = random.random() < 0.1
    body["rack_aware_assignment_strategy"] = random.choice(("none", *[*STRATEGIES] * 3))
    for name, usual in (("traffic", 1), ("non_overlap", 10)):
        cost = random.choice((None, None, 0, usual, random.randrange(50), 10**8, -3))
        if cost is not None:
            body[f"rack_aware_assignment_{name}_cost"] = cost
    topics: dict[str, int] = {}
    for subtopology in body["subtopologies"]:
        name, tasks = subtopology["subtopology_id"], subtopology["tasks_count"]
        sources = {
            f"in-{name}": tasks,
            **{f"in-{name}-{i}": random.randint(1, tasks) for i in range(random.choice((0, 0, 1, 2)))},
        }
        changelogs = {f"log-{name}-{i}": tasks for i in range(random.randint(1, 3))}
        subtopology["source_topic_names"] = list(sources)
        subtopology["changelog_topic_names"] = list(changelogs) + random.choice(([], [f"in-{name}"]))
        topics |= sources | changelogs
    body["topics"] = [
        {
            "topic_name": name,
            "partition_racks": [random.sample(racks, random.randint(1, min(2, len(racks)))) for _ in range(count)],
        }
        for name, count in topics.items()
    ]
    for client in body["clients"]:
        client["rack_id"] = random.choice([*racks, "elsewhere"])
    if untidy:
        random.choice(body["clients"])["rack_id"] = random.choice((None, "rack-0"))
        random.choice(body["topics"])["partition_racks"][0] = random.choice(([], [""], ["rack-0", ""]))


def clients_differ(body: Body) -> str | None:
    """Where our answer to a classic Streams group is not that of the real assignor; None: nowhere."""
    answer = STREAMS.document(STREAMS.decide(STREAMS.question(body), Budget()))
    ours = {name: answer[name] for name in ("assignments", "probing_rebalance")}
    theirs = streams_leader(answer["kafka_version"]).ask(body)
    del theirs["seconds"]
    return None if ours == theirs else f"{json.dumps(ours)} instead of {json.dumps(theirs)}"
