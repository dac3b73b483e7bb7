"""Random groups of Kafka Connect and Streams, and the real classes beside them."""

from __future__ import annotations

import atexit
import json
import subprocess
import uuid
from functools import cache
from random import Random
from typing import Any

from service.api.connect.form import FORM as CONNECT
from service.api.streams.form import FORM as STREAMS
from service.core.assignors.streams.classic import LEADERS
from service.core.kafka_versions import LATEST_RUNTIMES
from service.decisions.budget import Budget
from tests.support.jvm import COMPARED, JARS
from tests.support.parity import JAVA, PROGRAMS, class_path, coordinator_jars

Body = dict[str, Any]


class Program:
    """A running program of ``tests/support/java`` that reads a JSON document a line and answers with one."""

    def __init__(self, program: str, *coordinates: str) -> None:
        self._process = subprocess.Popen(
            [*JAVA, "-cp", class_path(*coordinates), PROGRAMS / program],
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
def connect_workers() -> Program:
    """Connect's real workers. All tests share them."""
    parts = ("kafka-clients", "connect-runtime", "connect-api")
    return Program("ConnectWorkers.java", *(f"org.apache.kafka:{part}:{LATEST_RUNTIMES}" for part in parts))


def connect_group(random: Random) -> Body:
    """The life of a Connect group: workers come, leave, return, lead; connectors are added, changed and deleted."""
    name = random.choice(("connector-{}", "c{}", "{}-jdbc", "é{}", "😀{}")).format
    member = random.choice(("w{}", "connect-1-{:08x}", "worker-{}-ﬀ")).format
    many = random.random() < 0.1
    connectors = {name(i): random.randrange(40 if many else 9) for i in range(random.randint(1, 40 if many else 6))}
    workers = [member(_number(random, i)) for i in range(random.randint(1, 40 if many else 7))]
    leader, away, now = workers[0], [], 0
    rounds: list[Body] = []
    for i in range(random.randint(1, 12)):
        if i:
            now += random.choice((0, 5, 300, 1_000, 30_000, 60_000, 299_999, 300_000, 400_000))
            for _ in range(random.choice((0, 0, 0, 1, 1, 2))):
                _change(random, connectors, workers, away, name, member)
            if leader not in workers or random.random() < 0.05:
                leader = random.choice(workers)
            if random.random() < 0.1:
                random.shuffle(workers)
        listed = [{"connector_name": each, "tasks_count": count} for each, count in connectors.items()]
        rows = [{"member_id": worker} for worker in workers]
        rounds.append({"at_ms": now, "leader_id": leader, "connectors": listed, "workers": rows})
    return {
        "group_protocol": "connect",
        "assignor": random.choice(("eager", "compatible", "sessioned", "sessioned")),
        "scheduled_rebalance_max_delay_ms": random.choice((300_000, 300_000, 60_000, 0, 1, 40, 1_000 * random.randrange(3_600))),
        "rounds": rounds,
    }


def _number(random: Random, i: int) -> int:
    return i if random.random() < 0.5 else random.randrange(2**32)


def _change(random: Random, connectors: dict[str, int], workers: list[str], away: list[str], name: Any, member: Any) -> None:
    """A worker comes, leaves or comes back (the same process, or another one in its place), or a connector changes."""
    kind = random.choice(("comes", "comes", "leaves", "leaves", "returns", "connector", "connector", "connector"))
    if kind == "leaves" and len(workers) > 1:
        away.append(workers.pop(random.randrange(len(workers))))
    elif kind == "connector":
        some = random.choice([*connectors, name(random.randrange(10**6))])
        connectors[some] = random.randrange(12)
        if random.random() < 0.3:
            del connectors[some]
    elif kind == "comes" or (kind == "returns" and away):
        new = member(random.randrange(2**32)) if kind == "comes" else away.pop() + random.choice(("", "b"))
        if new not in workers:
            workers.append(new)


def connect_differs(body: Body) -> str | None:
    """Where our answer to a Connect group is not that of the real workers; None: nowhere."""
    ours = CONNECT.document(CONNECT.decide(CONNECT.question(body), Budget()), Budget())
    theirs = connect_workers().ask(body)
    for i, (our, their) in enumerate(zip(ours["rounds"], theirs["rounds"], strict=True)):
        if our["assignments"] != their["assignments"]:
            return f"round {i}: {json.dumps(our['assignments'])} instead of {json.dumps(their['assignments'])}"
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
    ours = STREAMS.document(STREAMS.decide(STREAMS.question(body), Budget()), Budget())["assignments"]
    theirs = streams_coordinator(body["kafka_version"]).ask(body)["assignments"]
    return None if ours == theirs else f"{json.dumps(ours)} instead of {json.dumps(theirs)}"


@cache
def streams_leader() -> Program:
    """The task assignors of classic Streams groups. All tests share them."""
    return Program("StreamsLeader.java", *JARS)


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
    return {
        "group_protocol": "streams",
        "member_protocol": "classic",
        "assignor": random.choice(LEADERS).name,
        "num_standby_replicas": random.choice((0, 0, 1, 1, 2, 3)),
        "max_warmup_replicas": random.choice((1, 2, 2, 10)),
        "acceptable_recovery_lag": random.choice((0, 100, 10_000, 2**63 - 1)),
        "rack_aware_assignment_tags": random.choice(([], ["zone"], ["zone", "cluster"], ["cluster", "other"])),
        "subtopologies": subtopologies,
        "clients": clients,
    }


def clients_differ(body: Body) -> str | None:
    """Where our answer to a classic Streams group is not that of the real assignor; None: nowhere."""
    answer = STREAMS.document(STREAMS.decide(STREAMS.question(body), Budget()), Budget())
    ours = {name: answer[name] for name in ("assignments", "probing_rebalance")}
    theirs = streams_leader().ask(body)
    return None if ours == theirs else f"{json.dumps(ours)} instead of {json.dumps(theirs)}"
