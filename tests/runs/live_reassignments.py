"""``python -m tests.runs.live_reassignments``: plans made from a live cluster and executed by Kafka's own tools, some minutes.

Six real brokers on three racks. Each plan is made as an operator makes it: ``snapshot`` of the live cluster, ``reassign --out``,
and then the commands that ``plan.md`` lists, one by one, while records are written with ``acks=all``. Afterwards replicas and
leaders are where the plan says, every record has arrived, and no partition was ever seen with
fewer replicas in sync than ``min.insync.replicas``.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import threading
import time
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from service.cli import main as main_command
from service.core.printable import counted
from tests.planner.reassignments.test_real_brokers import Traffic
from tests.support.broker import JARS
from tests.support.broker_set import running_brokers
from tests.support.jvm import KAFKA, SHORT_LIVED, fetch, libraries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.broker_set import BrokerSet

RACKS = "aabbcc"
MIN_IN_SYNC = 2
TOOLS = {
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-configs": "kafka.admin.ConfigCommand",
}
PATIENCE = 300
"""Seconds for one batch, on a busy machine."""


@dataclass
class Watched:
    """What was seen of the replicas in sync. fewest : of any partition, at any look; looks : how often"""

    fewest: int = 99
    looks: int = 0


@dataclass
class Operator:
    """Somebody at a terminal. folder : where the files go; topics : those that are reassigned"""

    cluster: BrokerSet
    folder: Path
    plans: int = 0
    report: list[str] = field(default_factory=list)

    def allocator(self, *words: str) -> str:
        """The output of this project's command, which runs in this process: each would load half a second of modules."""
        with chdir(self.folder):
            done = CliRunner().invoke(main_command, words, catch_exceptions=False)
        if done.exit_code:
            raise RuntimeError(f"{' '.join(words[-8:])}: {done.exit_code}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        return done.stdout

    def tool(self, line: str) -> str:
        """The output of one of Kafka's tools. line : as in ``plan.md``"""
        name, *words = shlex.split(line.replace('"$BOOTSTRAP"', self.cluster.bootstrap))
        jars = fetch(*JARS, f"org.apache.kafka:kafka-tools:{KAFKA}", "info.picocli:picocli:4.7.7")
        classpath = ":".join((*jars, *libraries("log4j-")))
        words = ["java", "-Xmx256m", *SHORT_LIVED, "-cp", classpath, TOOLS[name], *words]
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(words[-8:])}: {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        return done.stdout

    def snapshot(self, change: Callable[[dict[str, Any]], None] = lambda _: None, interval: int = 0) -> dict[str, Any]:
        """The live cluster without Kafka's own topics, also as the file ``snapshot.json``."""
        words = ("snapshot", "--bootstrap-server", self.cluster.bootstrap, *(["--interval", f"{interval}s"] if interval else []))
        taken: dict[str, Any] = json.loads(self.allocator(*words))
        taken["topics"] = [topic for topic in taken["topics"] if not topic.get("internal")]
        change(taken)
        (self.folder / "snapshot.json").write_text(json.dumps(taken))
        return taken

    def plan(self, *options: str, command: str = "reassign", **fields: Any) -> dict[str, Any]:
        """The plan with these options of ``reassign`` or ``disks``, and fields of the body; its files in a folder of its own."""
        self.plans += 1
        (self.folder / "more.json").write_text(json.dumps(fields))
        words = (command, "more.json", "--snapshot", "snapshot.json", *options, "--out", f"plan-{self.plans}", "--output", "json")
        answer: dict[str, Any] = json.loads(self.allocator(*words))
        sentences = answer["conclusion"], *answer["effects"]
        self.report += [f"  {command} {' '.join(options)}", *(f"    {sentence}" for sentence in sentences)]
        return answer

    def execute(self) -> None:
        """The commands of ``plan.md`` that carry the plan out; ``--verify`` until the batch is complete."""
        folder = f"plan-{self.plans}"
        text = (self.folder / folder / "plan.md").read_text()
        (commands, *_) = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
        for line in commands.splitlines():
            where = line.replace("-file ", f"-file {folder}/")
            started = time.monotonic()
            output = self.tool(where)
            while "--verify" in line and "still in progress" in output:
                if time.monotonic() > started + PATIENCE:
                    raise RuntimeError(output)
                time.sleep(0.5)
                output = self.tool(where)
            if "--verify" in line and ("failed" in output or "not complete" in output):
                raise RuntimeError(output)


@contextmanager
def watching(bootstrap: str) -> Iterator[Watched]:
    """Looks at the replicas in sync all the time."""
    watched, stop = Watched(), threading.Event()

    def look() -> None:
        admin = AdminClient({"bootstrap.servers": bootstrap})
        while not stop.wait(0.05):
            for name, topic in admin.list_topics(timeout=120).topics.items():
                if not name.startswith("__"):
                    watched.fewest = min(watched.fewest, *(len(about.isrs) for about in topic.partitions.values()))
            watched.looks += 1

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield watched
    finally:
        stop.set()
        thread.join(120)


def placed(snapshot: dict[str, Any]) -> dict[tuple[str, int], list[int]]:
    """The replicas of each partition."""
    return {
        (topic["topic_name"], row["partition_id"]): row["replicas"] for topic in snapshot["topics"] for row in topic["placements"]
    }


def led(snapshot: dict[str, Any]) -> dict[tuple[str, int], int]:
    """The leader of each partition."""
    return {
        (topic["topic_name"], row["partition_id"]): row["leader"] for topic in snapshot["topics"] for row in topic["placements"]
    }


def stored(snapshot: dict[str, Any]) -> dict[int, int]:
    """The bytes of each broker's replicas."""
    totals = dict.fromkeys((broker["broker_id"] for broker in snapshot["brokers"]), 0)
    for topic in snapshot["topics"]:
        for row in topic["placements"]:
            for broker in row["replicas"]:
                totals[broker] += topic["partition_bytes"][row["partition_id"]]
    return totals


def carried_out(operator: Operator, topic: str, plan: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Execute the plan while records are written, and check what every plan promises. Returns the snapshot afterwards."""
    if not plan["batches"]:
        raise RuntimeError("there is nothing to execute")
    bootstrap, started = operator.cluster.bootstrap, time.monotonic()
    with watching(bootstrap) as watched, Traffic(bootstrap, topic) as traffic:
        operator.execute()
    if traffic.failed or not traffic.sent <= traffic.read or len(traffic.sent) < 100:
        raise RuntimeError(f"{len(traffic.failed)} records failed, {len(traffic.sent - traffic.read)} are lost")
    if watched.fewest < MIN_IN_SYNC or not watched.looks:
        raise RuntimeError(f"a partition had {watched.fewest} replicas in sync")
    after = operator.snapshot()
    rows = {(row["topic"], row["partition"]): row["replicas"] for row in plan["reassignment"]["partitions"]}
    if placed(after) != placed(before) | rows:
        raise RuntimeError("the replicas are elsewhere than planned")
    led_now = led(after)
    elections = plan.get("preferred_leader_elections", {"partitions": []})
    elected = [(row["topic"], row["partition"]) for row in elections["partitions"]]
    if any(led_now[each] != placed(after)[each][0] for each in elected):
        raise RuntimeError("a leader is not the preferred one")
    moves = plan["moves"]
    operator.report.append(
        f"    {counted(len(plan['batches']), 'batch', 'batches')}, {counted(moves['replicas'], 'copy', 'copies')}, "
        f"{moves['bytes']:,} bytes in "
        f"{time.monotonic() - started:.0f} s; {len(traffic.sent):,} records, none lost; at least {watched.fewest} replicas in "
        f"sync in {watched.looks} looks"
    )
    return after


def create(operator: Operator, name: str, rows: list[list[int]], megabytes: list[int]) -> None:
    """A topic on these brokers, with so much in each partition."""
    admin = AdminClient({"bootstrap.servers": operator.cluster.bootstrap})
    config = {"min.insync.replicas": str(MIN_IN_SYNC)}
    admin.create_topics([NewTopic(name, len(rows), replica_assignment=rows, config=config)])[name].result(120)
    producer = Producer({"bootstrap.servers": operator.cluster.bootstrap, "acks": "all", "linger.ms": 50})
    for partition, amount in enumerate(megabytes):
        for _ in range(amount * 10):
            producer.produce(name, bytes(100_000), partition=partition)
            producer.poll(0)
    producer.flush(PATIENCE)


def below_a_disk_threshold(operator: Operator) -> None:
    """Brokers 1, 3 and 5 are above 85 % of their capacity; all others get what is above, in batches."""
    others = stored(operator.snapshot())  # what the runs before have written, more on a slow machine
    create(operator, "sized", [[1, 3, 5], [3, 5, 1], [5, 1, 3]] * 4, [1, 2, 3, 1, 2, 3, 2, 1, 2, 1, 1, 1])

    def with_capacities(snapshot: dict[str, Any]) -> None:
        for broker in snapshot["brokers"]:
            broker["capacity_bytes"] = 20_000_000 + int(others[broker["broker_id"]] / 0.85)
            broker["used_bytes"] = 1_000_000 + stored(snapshot)[broker["broker_id"]]

    before = operator.snapshot(with_capacities)
    if not any(total + 1_000_000 > 17_000_000 + others[b] for b, total in stored(before).items()):
        raise RuntimeError(f"no broker is above the threshold: {stored(before)}")
    options = ("--disk-threshold", "0.85", "--balance", "bytes", "--racks", "spread", "--leaders", "keep")
    plan = operator.plan(*options, "--throttle", "20000000", "--moves-per-broker", "1")
    after = carried_out(operator, "sized", plan, before)
    if any(total + 1_000_000 > 17_500_000 + others[b] for b, total in stored(after).items()):  # with what was written meanwhile
        raise RuntimeError(f"a broker is above the threshold: {stored(after)}")
    operator.report.append(f"    bytes before {stored(before)}, after {stored(after)}")


def demoted(operator: Operator) -> None:
    """Leadership leaves broker 5, and nothing is copied."""
    before = operator.snapshot()
    plan = operator.plan("--demote", "5")
    after = carried_out(operator, "sized", plan, before)
    if plan["moves"]["replicas"] or 5 in led(after).values():
        raise RuntimeError(f"broker 5 leads: {led(after)}")


def within_broker_sets(operator: Operator) -> None:
    """Broker 1 is emptied, Kafka itself has cordoned broker 2, three brokers receive, and there are two broker sets."""
    create(operator, "orders", [[1, 3, 5], [3, 5, 2], [5, 2, 4], [2, 4, 6], [4, 6, 1], [6, 1, 3]], [1] * 6)
    at = f"--bootstrap-server {operator.cluster.bootstrap}"
    operator.tool(f"kafka-configs {at} --alter --entity-type brokers --entity-name 2 --add-config cordoned.log.dirs=*")
    time.sleep(3)
    before = operator.snapshot()
    cordoned = [broker["broker_id"] for broker in before["brokers"] if broker.get("cordoned")]
    if cordoned != [2]:
        raise RuntimeError(f"the snapshot has {cordoned} as cordoned")
    sets = [{"topics": "orders*", "broker_ids": [1, 2, 3, 4, 5, 6]}, {"topics": "*", "broker_ids": [3, 4, 5, 6, 1]}]
    plan = operator.plan(
        *("--drain", "1", "--destination", "3", "--destination", "4", "--destination", "6"),
        *("--racks", "spread", "--moves-per-broker", "3"),
        broker_sets=sets,
    )
    after = carried_out(operator, "orders", plan, before)
    came = {broker for part, row in placed(after).items() for broker in set(row) - set(placed(before)[part])}
    if not came <= {3, 4, 6} or 1 in {broker for row in placed(after).values() for broker in row}:
        raise RuntimeError(f"replicas came to {came}")


def stored_in(snapshot: dict[str, Any]) -> dict[tuple[int, str], dict[tuple[str, int], int]]:
    """For each broker and directory the bytes of each replica."""
    return {
        (broker["broker_id"], log_dir["log_dir"]): {
            (row["topic_name"], partition): amount
            for row in log_dir["replicas"]
            for partition, amount in zip(row["partition_ids"], row["partition_bytes"], strict=True)
        }
        for broker in snapshot["log_dirs"]
        for log_dir in broker["log_dirs"]
    }


def between_log_dirs(operator: Operator) -> None:
    """Broker 1 loses a disk, and a disk of broker 3 is above 85 % of its capacity."""
    create(operator, "disks", [[1, 3, 5], [3, 5, 1], [5, 1, 3]] * 3, [3, 1, 2, 1, 3, 1, 2, 1, 1])
    at: dict[int, tuple[int, str]] = {}

    def with_capacities(snapshot: dict[str, Any]) -> None:
        used = {place: sum(sizes.values()) for place, sizes in stored_in(snapshot).items()}
        at.update({b: max((place for place in used if place[0] == b), key=lambda place: used[place]) for b in (1, 3)})
        for broker in snapshot["log_dirs"]:
            for i, log_dir in enumerate(broker["log_dirs"]):  # of equal size and use they would seem to be on one disk
                place = broker["broker_id"], log_dir["log_dir"]
                replicas, full = used[place], place == at[3]
                log_dir |= {"capacity_bytes": int(replicas / 0.9) if full else 50_000_000, "used_bytes": replicas + i}

    before = operator.snapshot(with_capacities)
    plan = operator.plan("--drain", f"1:{at[1][1]}", "--disk-threshold", "0.85", "--throttle", "20000000", command="log-dirs")
    after = stored_in(carried_out(operator, "disks", plan, before))
    sizes = stored_in(before)[at[3]]
    if any(topic == "disks" for topic, _ in after[at[1]]):
        raise RuntimeError(f"{at[1]} has {after[at[1]]}")
    if sum(sizes.get(place, 0) for place in after[at[3]]) > 0.85 / 0.9 * sum(sizes.values()):  # without what came meanwhile
        raise RuntimeError(f"{at[3]} has {after[at[3]]}, and had {sizes}")
    for move in plan["reasons"]:
        if (move["topic_name"], move["partition_id"]) not in after[move["broker_id"], move["to"]]:
            raise RuntimeError(f"{move} was not carried out")


def rates_of_producers(operator: Operator) -> None:
    """What producers write is within a tenth of what ``snapshot --interval`` says of it."""
    create(operator, "rates", [[1, 3, 5], [3, 5, 1]], [0, 0])
    payload, per_second = bytes(1_000), (200, 50)
    producer = Producer({"bootstrap.servers": operator.cluster.bootstrap, "linger.ms": 5, "compression.type": "none"})
    stop, sent = threading.Event(), [0, 0]

    def produce() -> None:
        start = time.monotonic()
        while not stop.wait(0.1):
            for partition, rate in enumerate(per_second):
                while sent[partition] < rate * (time.monotonic() - start):
                    producer.produce("rates", payload, partition=partition)
                    sent[partition] += 1
            producer.poll(0)
        producer.flush(60)

    thread = threading.Thread(target=produce)
    thread.start()
    try:
        time.sleep(3)
        snapshot = operator.snapshot(interval=10)
    finally:
        stop.set()
        thread.join(120)
    (topic,) = (topic for topic in snapshot["topics"] if topic["topic_name"] == "rates")
    for name, unit in (("records_per_second", 1), ("bytes_per_second", len(payload))):
        for rate, seen in zip(per_second, topic[name], strict=True):
            if not 0.9 * rate * unit < seen < 1.15 * rate * unit:
                raise RuntimeError(f"{name} is {topic[name]}, and {per_second} records of {len(payload)} bytes were written")
    operator.report.append(f"    {topic['records_per_second']} records and {topic['bytes_per_second']} bytes per second")


def main() -> int:
    """Run all plans one after another; print what they did."""
    with running_brokers(RACKS) as cluster, TemporaryDirectory() as folder:
        operator = Operator(cluster, Path(folder))
        try:
            for run in (rates_of_producers, between_log_dirs, below_a_disk_threshold, demoted, within_broker_sets):
                operator.report.append((run.__doc__ or "").splitlines()[0])
                run(operator)
        finally:
            print("\n".join(operator.report))  # noqa: T201 (a command)
    return 0


if __name__ == "__main__":
    sys.exit(main())
