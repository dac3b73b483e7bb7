"""``make pipeline-proof``: the pipeline at size, predicted before it is run, and the same bytes under faults.

``python -m benchmarks.pipeline_proof [PART …]`` runs a part of it: ``scale [RECORDS RECORDS]``, ``curves [TIMES]``,
``faults [RECORDS]``, ``results [TASKS]``, ``merges [RESULTS [KEYS]]`` or ``kafka-clients [KEYS]``.

``skew`` of the first 10^8 records, then of more, with one partitioner and count (10^10), and with four and twenty (10^9).
What the small run predicts of the large one is printed before that starts, and how far it was off after. All runs read the same
records, made in the tasks. Memory and CPU time are those of all processes of a run, read twice a second.

The curves are times of 10^7, 3 × 10^7 and 10^8 records on one and on two cores.

Then 10^8 records on a standalone cluster of executors with one core each, in TASKS tasks, so that their results are shuffled:
undisturbed, while an executor is killed in each stage, while one stands still, with and without others that take over its task
(speculation), while the cluster grows from one to four executors, and with a full disk, where the job has to end with an error
and no result.

The results of many tasks, each of a million bytes, show what the driver needs for them: 10^4 of Spark's tasks, and 10^5 merged as
executors and the driver merge them, but in one process without Spark.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark

from service.core.kafka_versions import LATEST
from service.pipeline.analyses import results
from service.pipeline.analyses.skew.answer import answer_from
from service.pipeline.analyses.skew.outcome import outcome_of
from service.pipeline.analyses.skew.scan import SkewResult, SkewScan
from service.pipeline.spark.errors import unanswered
from service.pipeline.spark.io.scan import MERGED
from service.pipeline.spark.tasks.made_keys import MadeKeys
from service.pipeline.spark.tasks.parquet_files import SplitReader
from service.planner.sizing.distinct_keys import RECORDS
from service.planner.sizing.plans import CountLimits, Rates
from service.report.folders import json_of, parquet_of
from tests.support.parity import command
from tests.support.serving import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SECONDS = 0.5
"""Between two looks at the processes of a run."""

FIRST = 100_000_000
"""Records of the run that predicts."""

START = 1_000_000
"""Records of the run that is nearly all start."""

KEYS = 10**10

FEW_KEYS = 50_000
"""Keys of which a task holds all, so that everything is exact."""

SCANNED = 500
"""Tasks whose results are merged many times."""

LENGTH = 16
"""Characters of a key."""

TASKS = 48
"""Of a run with faults."""

SMALL = 8
"""More tasks than any stage but the scan has here; with as many left, the scan is near its end."""

RESULT_KEYS = 65_536
"""Records of a task whose result is as large as results are, a megabyte."""

ONE = ("--partitioner", "java", "--partitions", "12")
FOUR = ("java", "librdkafka:consistent_random", "sarama", "spark")
FOUR_BY_TWENTY = (*(word for name in FOUR for word in ("--partitioner", name)), "--partitions", "10-200:10")


@dataclass(frozen=True)
class Run:
    """What a run took and gave.

    seconds, core_seconds : of wall and of CPU time, from the start of Python to its end
    driver, jvm, worker : peak resident memory of the driver's Python, of the JVM, and of the largest Python worker, in bytes
    tasks, shuffled, returned : of Spark's event log: tasks, bytes written to shuffles, bytes of results sent to the driver
    lost, executors : executors that ended before the job, and that ran a task
    speculative, repeated : tasks that were started beside a slow one, and that did not succeed
    counts : partitioner,partitions_count,partition_id,records in a line each
    """

    seconds: float
    core_seconds: float
    driver: int
    jvm: int
    worker: int
    tasks: int
    shuffled: int
    returned: int
    lost: int
    speculative: int
    repeated: int
    executors: int
    counts: str

    @property
    def sha256(self) -> str:
        """The digest of ``counts``."""
        return hashlib.sha256(self.counts.encode()).hexdigest()

    def print(self, title: str) -> None:
        """A line for each figure."""
        print(f"\n{title}\n  counts per partition: SHA-256 {self.sha256}")
        print(f"  {self.core_seconds:.0f} core-seconds, {self.seconds:.0f} s of wall time, {self.tasks} tasks")
        print(f"  {self.shuffled:,} bytes shuffled, {self.returned:,} bytes of results sent to the driver")
        print(
            f"  peak memory: driver's Python {self.driver / 1e6:.0f} MB, JVM {self.jvm / 1e6:.0f} MB, "
            f"largest worker {self.worker / 1e6:.0f} MB",
            flush=True,
        )


def source(records: int) -> str:
    """The first ``records`` of a topic by Zipf's law."""
    return f"keys:{records}?distribution=zipf:0.99&keys={KEYS}&length={LENGTH}&seed=1"


def run(
    of: str,
    *arguments: str,
    script: Sequence[str] = ("-m", "service"),
    disturb: Callable[[Seen], None] = lambda _: None,
    beside: Sequence[int] = (),
) -> Run:
    """Run ``pipeline skew`` in a process of its own.

    disturb : is called twice a second
    beside : other processes that take part
    Raises Failed.
    """
    with tempfile.TemporaryDirectory(prefix="pipeline-proof-") as folder:
        log = ("spark.eventLog.enabled=true", f"spark.eventLog.dir=file://{folder}", "spark.eventLog.rolling.enabled=false")
        options = settings(*log, "spark.eventLog.compress=false")
        words = [sys.executable, *script, "pipeline", "skew", of, *arguments, *options, "--into", f"{folder}/results"]
        start = time.monotonic()
        with Path(folder, "output").open("wb") as output:
            environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
            process = subprocess.Popen(words, stdout=output, stderr=output, env=environment)
            seen: Seen = {}
            while process.poll() is None:
                for each in tree(process.pid, *beside):
                    before = seen.get(each.id, each)  # of a process that is ending, the kernel no longer tells the memory
                    seen[each.id] = replace(each, memory=max(each.memory, before.memory))
                disturb(seen)
                time.sleep(SECONDS)
        seconds = time.monotonic() - start
        if process.returncode:
            raise Failed(process.returncode, Path(folder, "output").read_text(), list(Path(folder, "results").glob("*.parquet")))
        table = pq.read_table(f"{folder}/results/partitions.parquet").select(
            ["partitioner", "partitions_count", "partition_id", "records"]
        )
        (log_file,) = (path for path in Path(folder).iterdir() if path.name.startswith(("local-", "app-")))
        events = [json.loads(line) for line in log_file.read_text().splitlines()]
    tasks = [each for each in events if each["Event"] == "SparkListenerTaskEnd"]
    metrics: list[dict[str, Any]] = [task["Task Metrics"] for task in tasks if "Task Metrics" in task]
    return Run(
        seconds,
        sum(each.cpu for each in seen.values()),
        driver=seen[process.pid].memory,
        jvm=max(each.memory for each in seen.values() if each.name == "java"),
        worker=max(each.memory for each in seen.values() if each.name.startswith("python") and each.id != process.pid),
        tasks=len(tasks),
        lost=sum(each["Event"] == "SparkListenerExecutorRemoved" for each in events),
        speculative=sum(task["Task Info"]["Speculative"] for task in tasks),
        repeated=sum(task["Task End Reason"]["Reason"] != "Success" for task in tasks),
        executors=len({task["Task Info"]["Executor ID"] for task in tasks}),
        shuffled=sum(each["Shuffle Write Metrics"]["Shuffle Bytes Written"] for each in metrics),
        returned=sum(each["Result Size"] for each in metrics),
        counts="".join(",".join(map(str, row.values())) + "\n" for row in table.to_pylist()),
    )


class Failed(Exception):
    """A job that ended with another exit status than 0: the status, what it printed, and the tables that it left."""


def settings(*texts: str) -> list[str]:
    """Settings of Spark, as arguments."""
    return [word for text in texts for word in ("--spark-option", text)]


@dataclass(frozen=True)
class Process:
    """A process at a moment. cpu : seconds so far; memory : the largest resident bytes so far"""

    id: int
    name: str
    cpu: float
    memory: int


Seen = dict[int, Process]
"""The processes of a run by their ids, as they were last seen."""


def tree(*roots: int) -> list[Process]:
    """Processes and all that they started."""
    found, chosen = [], [*roots]
    while chosen:
        entry = Path(f"/proc/{chosen.pop()}")
        try:
            name, _, rest = (entry / "stat").read_text().partition("(")[2].rpartition(")")
            status = (entry / "status").read_text()
            chosen += [int(child) for task in entry.glob("task/*/children") for child in task.read_text().split()]
        except OSError:
            continue  # it has ended
        fields = rest.split()
        peak = next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:")), 0)
        found.append(Process(int(entry.name), name, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), peak))
    return found


def predicted(start: Run, first: Run, records: int) -> float:
    """Core-seconds of all records: those of the start once, and the others in proportion."""
    per_record = (first.core_seconds - start.core_seconds) / (FIRST - START)
    return start.core_seconds + per_record * (records - START)


def compare(records: int, name: str, *arguments: str) -> None:
    """Predict a run of all records from one of the first, run it, and print both."""
    start, first = (run(source(count), *arguments) for count in (START, FIRST))
    start.print(f"{name}, {START:,} records")
    first.print(f"{name}, {FIRST:,} records")
    seconds = predicted(start, first, records)
    print(f"\n{name}, predicted from those: {seconds:.0f} core-seconds for {records:,} records,")
    print(f"  {predicted(start, first, KEYS):.0f} core-seconds for {KEYS:,}", flush=True)
    done = run(source(records), *arguments)
    done.print(f"{name}, {records:,} records")
    print(f"  {done.core_seconds / records * 1e9:.0f} core-seconds for 10^9 records")
    print(f"  the prediction of core-seconds is off by {seconds / done.core_seconds - 1:+.1%}")
    of_first, of_all = ([int(line.rpartition(",")[2]) for line in each.counts.splitlines()] for each in (first, done))
    worst = max(abs(few * records / FIRST / many - 1) for few, many in zip(of_first, of_all, strict=True))
    print(f"  records of a partition, predicted in proportion, are off by at most {worst:.2%}")
    print(done.counts if len(of_all) <= 12 else "", flush=True)


def scale(one: str = "1e10", four: str = "1e9") -> None:
    """Small runs, what they predict, and large ones."""
    compare(int(float(one)), "1 partitioner x 1 count", *ONE)
    compare(int(float(four)), "4 partitioners x 20 counts", *FOUR_BY_TWENTY)


def curves(times: str = "3") -> None:
    """Seconds of wall time and of CPU on one and two cores, the fastest of a few runs."""
    for name, arguments in (("1 x 1", ONE), ("4 x 20", FOUR_BY_TWENTY)):
        for cores in (1, 2):
            for records in (10**7, 3 * 10**7, 10**8, 2 * 10**8):
                runs = [run(source(records), *arguments, "--master", f"local[{cores}]") for _ in range(int(times))]
                best = min(runs, key=lambda each: each.seconds)
                print(
                    f"{name}, local[{cores}], {records:,}: {best.seconds:.1f} s, {best.core_seconds:.1f} core-seconds", flush=True
                )


def many_results(tasks: str = "1e5") -> None:
    """What the driver needs for so many results, each of RESULT_KEYS keys."""
    count = int(float(tasks))
    of = source(count * RESULT_KEYS)
    done = run(of, *ONE, script=with_task_bytes(RESULT_KEYS * LENGTH))
    done.print(f"{count:,} tasks with a result each, {of}")
    print(f"  {done.core_seconds / count * 1000:.0f} ms of CPU a task", flush=True)


def merges(many: str = "1e5", *keys: str) -> None:
    """Merge so many results in rounds, as executors and the driver do, and compare with one scan of the same records.

    They are those of SCANNED tasks, each again and again; the scan gives its records that weight.
    """
    count = int(float(many))
    scan = SkewScan(("key",), "string", ("java",), (12,))
    for keys_count in [int(float(each)) for each in keys] or (FEW_KEYS, KEYS):
        made = MadeKeys(SCANNED * RESULT_KEYS, keys_count, "zipf", 0.99, LENGTH, 1)
        tasks = SplitReader(scan, made, made.splits(SCANNED))
        with tempfile.TemporaryDirectory(prefix="pipeline-proof-") as folder:
            places = [Path(folder, f"task-{number}") for number in range(SCANNED)]
            for number, place in enumerate(places):
                place.write_bytes(tasks.partial(number) or b"")
            print(
                f"\n{count:,} results of tasks with {RESULT_KEYS:,} records of {keys_count:,} keys: {sizes(places)}", flush=True
            )
            left = [places[number % SCANNED] for number in range(count)]
            while len(left) > MERGED:
                start, groups = time.process_time(), -(-len(left) // MERGED)
                left = [merged_into(Path(folder, f"{groups}-{group}"), left[group::groups]) for group in range(groups)]
                seconds = time.process_time() - start
                print(f"  executors merge them to {groups:,}, {sizes(left)}: {seconds:.0f} core-seconds", flush=True)
            start = time.process_time()
            merged = results.merged(place.read_bytes() for place in left)
            print(f"  the driver merges those to one: {time.process_time() - start:.2f} core-seconds")
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
            print(f"  peak memory of a process that does all of it: {peak:.0f} MB", flush=True)
        whole = SkewResult.of_nothing(scan)
        for block in range(made.blocks):
            (batch,) = made.batches_of([block], ["key"])
            weight = pa.repeat(len(range(block, count, SCANNED)), len(batch))
            deque(replace(scan, records_column="weight").add(whole, batch.append_column("weight", weight)))
        error, least = (max(error for *_, error in of.counts.distinct.heaviest(RECORDS, 20)) for of in (merged, whole))
        print(f"  error of the 20 hottest keys: at most {error:,} of {whole.counts.records:,} records, by one scan {least:,}")
        ours, theirs = (written(result, scan) for result in (merged, whole))
        for name, data in ours.items():
            print(f"  {name}: {'the same bytes' if data == theirs[name] else 'OTHER BYTES'} as by one scan", flush=True)


def sizes(places: Sequence[Path]) -> str:
    """The sizes of files, in words."""
    of = [place.stat().st_size for place in places]
    return f"{sum(of) // len(of):,} bytes each, at most {max(of):,}"


def merged_into(place: Path, parts: Sequence[Path]) -> Path:
    """The place, with what a task of an executor gives for these parts."""
    rows = pa.RecordBatch.from_pylist([{"partial": part.read_bytes(), "rejected": 0} for part in parts])
    (row,) = results.merged_rows(iter([rows]))
    place.write_bytes(row["partial"][0].as_py())
    return place


def written(result: SkewResult, scan: SkewScan) -> dict[str, bytes]:
    """What ``skew`` writes of a result, by file name."""
    answer = answer_from(result, {}, scan.key_format, CountLimits(), Rates(), None)
    outcome = outcome_of(answer, "keys", scan)
    return {name: parquet_of(table) for name, table in outcome.tables.items()} | {
        name: json_of(document) for name, document in {"summary.json": outcome.summary, **outcome.requests}.items()
    }


def kafka_clients(keys: str = "1e7") -> None:
    """The keys of KIP-1299 by this pipeline, and by the partitioner of kafka-clients."""
    count = int(float(keys))
    program = command(
        str(Path(__file__).parent / "java" / "keys" / "CountPartitions.java"), f"org.apache.kafka:kafka-clients:{LATEST}"
    )
    theirs = json.loads(subprocess.run([*program, str(count), "12"], check=True, capture_output=True, text=True).stdout)
    ours = [int(line.rpartition(",")[2]) for line in run(f"keys:{count}?distribution=range", *ONE).counts.splitlines()]
    said = "the same counts" if ours == theirs else "OTHER COUNTS"
    print(f"\n{count:,} keys of KIP-1299, by kafka-clients {LATEST}: {said}\n  {theirs}", flush=True)


def executors(seen: Seen) -> list[int]:
    """The executors that are there now."""
    return [each.id for each in seen.values() if b"CoarseGrainedExecutorBackend" in _command(each.id)]


def _command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


@dataclass
class Killer:
    """Kills one executor in each stage of tasks, as soon as a task of the stage is done. port : of Spark's page"""

    port: int
    killed: set[int] = field(default_factory=set)

    def __call__(self, seen: Seen) -> None:
        """Look whether there is a stage whose turn it is."""
        for stage in stages(self.port):
            if stage["numCompleteTasks"] and stage["stageId"] not in self.killed and (found := executors(seen)):
                self.killed.add(stage["stageId"])
                os.kill(found[0], signal.SIGKILL)


@dataclass
class Stopper:
    """Lets one executor stand still for half a minute, near the end of the scan: others first run tasks that no one has begun.

    port : of Spark's page
    """

    port: int
    stopped: tuple[int, float] | None = None

    def __call__(self, seen: Seen) -> None:
        """Stop it, or let it go on."""
        if self.stopped is None:
            near = any(0 <= stage["numTasks"] - SMALL <= stage["numCompleteTasks"] for stage in stages(self.port))
            if near and (found := executors(seen)):
                self.stopped = found[0], time.monotonic() + 30
                os.kill(found[0], signal.SIGSTOP)
        elif time.monotonic() > self.stopped[1]:
            self.stopped = self.stopped[0], math.inf
            with suppress(ProcessLookupError):
                os.kill(self.stopped[0], signal.SIGCONT)


def stages(port: int) -> list[dict[str, Any]]:
    """The active stages of the application with that page; none before it is there."""
    address = f"http://127.0.0.1:{port}/api/v1/applications"
    try:
        with urlopen(address, timeout=5) as answer:
            (application,) = json.load(answer)
        with urlopen(f"{address}/{application['id']}/stages?status=active", timeout=5) as answer:  # noqa: S310
            found: list[dict[str, Any]] = json.load(answer)
    except (OSError, ValueError):
        return []
    return found


def with_task_bytes(size: int) -> tuple[str, str]:
    """What runs the service with tasks of so many bytes."""
    arrow = "from service.pipeline.spark.cluster import session as t"
    return "-c", f"{arrow}; t.TASK_BYTES = {size}; from service.cli import main; main()"


@contextmanager
def standalone(workers: int) -> Iterator[tuple[str, list[int]]]:
    """A standalone cluster of workers with one core each: its URL, and the ids of its processes.

    Each worker has an address of its own: Spark starts no task a second time on the host that runs it.
    """
    address = f"127.0.0.1:{free_port()}"
    package, page = "org.apache.spark.deploy", ("--webui-port", "0")
    master = (f"{package}.master.Master", "--host", "127.0.0.1", "--port", address.rpartition(":")[2], *page)
    others = [
        (f"{package}.worker.Worker", "--host", f"127.0.0.{i + 1}", *page, "-c", "1", "-m", "1g", f"spark://{address}")
        for i in range(workers)
    ]
    environment = {**os.environ, "SPARK_NO_DAEMONIZE": "1", "SPARK_DAEMON_MEMORY": "256m"}
    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    running = []
    with tempfile.TemporaryDirectory(prefix="pipeline-proof-") as folder, Path(folder, "log").open("wb") as log:
        environment["SPARK_WORKER_DIR"] = folder
        try:
            for words in (master, *others):
                running.append(subprocess.Popen([program, *words], stdout=log, stderr=log, env=environment))
                while unanswered([address]):
                    time.sleep(SECONDS)
            yield f"spark://{address}", [process.pid for process in running]
        finally:
            for process in reversed(running):
                process.terminate()
                process.wait()


def faults(records: str = "1e8") -> None:
    """The same records, undisturbed and with each fault."""
    of = source(int(float(records)))
    script = with_task_bytes(int(float(records)) * LENGTH // TASKS)
    undisturbed = run(of, *ONE, script=script)
    undisturbed.print(f"undisturbed, on this machine, {of}")
    page = free_port()
    two = ("spark.cores.max=2",)
    speculation = ("spark.speculation=true", "spark.speculation.quantile=0.3", "spark.speculation.multiplier=1.2")
    growing = (
        "spark.dynamicAllocation.enabled=true", "spark.dynamicAllocation.shuffleTracking.enabled=true",
        "spark.dynamicAllocation.minExecutors=1", "spark.dynamicAllocation.initialExecutors=1",
        "spark.dynamicAllocation.maxExecutors=4",
    )  # fmt: skip
    disturbed: dict[str, tuple[tuple[str, ...], Callable[[Seen], None]]] = {
        "two executors": (two, lambda _: None),
        "an executor killed in each stage": (two, Killer(page)),
        "an executor stands still": (two, Stopper(page)),
        "an executor stands still, with speculation": ((*two, *speculation), Stopper(page)),
        "from one to four executors": (growing, lambda _: None),
    }
    with standalone(4) as (master, daemons):
        for name, (more, disturb) in disturbed.items():
            options = settings(
                "spark.executor.memory=512m", "spark.driver.memory=1g", "spark.driver.host=127.0.0.1",
                "spark.ui.enabled=true", f"spark.ui.port={page}", *more,
            )  # fmt: skip
            done = run(of, *ONE, "--master", master, *options, script=script, disturb=disturb, beside=daemons)
            print(f"\n{name}: {'the same bytes' if done.counts == undisturbed.counts else 'OTHER BYTES'}")
            print(f"  {done.executors} executors ran {done.tasks} tasks in {done.seconds:.0f} s")
            print(
                f"  {done.lost} executors were lost, {done.repeated} tasks did not succeed, {done.speculative} were speculative",
                flush=True,
            )
    full_disk(of, script)


def full_disk(of: str, script: Sequence[str]) -> None:
    """A run whose shuffles have a megabyte of disk (a tmpfs, which only root can mount)."""
    with tempfile.TemporaryDirectory(prefix="pipeline-proof-") as folder:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], check=False).returncode:
            return
        try:
            run(of, *ONE, *settings(f"spark.local.dir={folder}"), script=script)
            print("\na full disk: the job did not need it", flush=True)
        except Failed as error:
            status, printed, tables = error.args
            print(f"\na full disk: exit status {status}, {len(tables)} tables are left; it says\n  {printed.strip()}", flush=True)
        finally:
            subprocess.run(["umount", "-l", folder], check=True)


def main(arguments: list[str]) -> None:
    """The parts that are named, or all."""
    match arguments:
        case ["scale", *records]:
            scale(*records)
        case ["curves", *times]:
            curves(*times)
        case ["merges", *many]:
            merges(*many)
        case ["results", *tasks]:
            many_results(*tasks)
        case ["faults", *records]:
            faults(*records)
        case ["kafka-clients", *keys]:
            kafka_clients(*keys)
        case _:
            kafka_clients()
            scale()
            curves()
            faults()
            many_results("1e4")
            merges()


if __name__ == "__main__":
    main(sys.argv[1:])
