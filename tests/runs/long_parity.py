"""A long comparison with the real assignors: ``python -m tests.runs.long_parity [--cases 100000] [--seed 20261121] [--group N]``.

Random groups live through a few rebalances each; every rebalance is one case, and the whole answer to it, or the failure, is
compared with that of Kafka's own class. Group N of a seed is always the same one. The next rebalance of a group begins with our
answer to the one before: so all questions to the JVM can be asked ahead, and once an answer differs the run is over anyway.
"""

from __future__ import annotations

import copy
import sys
import threading
from collections import Counter, deque
from dataclasses import dataclass
from itertools import count
from queue import Empty, SimpleQueue
from random import Random
from typing import TYPE_CHECKING, Any

import click
import orjson
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from service.api.groups import assignments_json
from service.conformance import groups
from service.conformance.groups import change, first_group, give
from service.conformance.shrinking import smaller
from service.core.errors import InvalidQuestion, KafkaAssignorFails
from service.core.ragged import transposed
from service.decisions.groups.answer import in_answer_order
from service.http.json.codec import dumps
from service.strategies import GROUP_PROTOCOLS, KAFKAS
from tests.support import golden, parity
from tests.support.groups import group_of
from tests.support.jvm import COMPARED, FORMER_CLIENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from service.core.assignors import Assignor

Body = dict[str, Any]


# ---- the assignors -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Subject:
    """An assignor of the service and the class that it reproduces."""

    protocol: str
    assignor: Assignor
    release: str
    kafka_class: str

    def __str__(self) -> str:
        return f"{self.protocol} {self.assignor.name}" + f" {self.release}"


ASSIGNORS = tuple((protocol, assignor.name) for protocol, assignors in KAFKAS.items() for assignor in assignors)


def _subject(protocol: str, name: str, release: str) -> Subject:
    assignor = GROUP_PROTOCOLS[protocol][name].at(release)
    return Subject(protocol, assignor, release, assignor.implementation.symbol)


SUBJECTS = (
    *(_subject(*names, release) for release in COMPARED for names in ASSIGNORS),
    _subject("consumer", "uniform", "4.0.0"),
    *(_subject(*names, release) for release in FORMER_CLIENTS for names in ASSIGNORS if names[0] == "classic"),
)
"""Group N is assigned by the subject ``N % len(SUBJECTS)``."""


def ours(subject: Subject, body: Body) -> Body:
    """Our answer, in the form of the JVM's: ``{"assignments"}`` or ``{"error"}``, or why the JVM is not asked: ``{"apart"}``."""
    group = group_of(body)
    try:
        assignment = subject.assignor.run(group)
    except KafkaAssignorFails as fails:
        if fails.exception is None:
            return {"apart": "endless"}
        return {"error": {"exception": fails.exception, "message": fails.message}}
    except InvalidQuestion:
        return {"apart": "refused"}
    owners = transposed(assignment.rows, group.topics.partitions_count + len(group.unknown_partitions))
    answer: Body = orjson.loads(dumps({"assignments": assignments_json(group, in_answer_order(group, assignment.rows, owners))}))
    return answer


def settled_by_java(subject: Subject, body: Body) -> bool:
    """False where two runs of the JVM may give different answers, of which ours warns."""
    return not (subject.assignor.warnings and subject.assignor.warnings(group_of(body)))


# ---- random groups -----------------------------------------------------------------------------------------------------


def nearly_endless(random: Random) -> Body:
    """A group whose partitions Kafka's sticky assignors move for ever, a little changed: many of these settle, some do not."""
    body = {name: copy.deepcopy(next(golden.lines("groups/endless"))["request"][name]) for name in ("topics", "members")}
    for topic in body["topics"]:
        topic["partitions_count"] += random.choice((0, 0, 0, 1, 2))
    for _ in range(random.randint(0, 2)):
        owned = random.choice([one for member in body["members"] for one in member["owned_partitions"]])
        if owned["partition_ids"]:
            moving = owned["partition_ids"].pop(random.randrange(len(owned["partition_ids"])))
            to = random.choice([member for member in body["members"] if owned["topic_name"] in member["topic_names"]])
            give(to, owned["topic_name"], moving)
    random.shuffle(body["members"])
    return body


@dataclass(frozen=True)
class Case:
    """One rebalance of one group, and our answer."""

    number: int
    rebalance: int
    subject: Subject
    body: Body
    ours: Body

    def question(self) -> bytes:
        """A line for the JVM."""
        return orjson.dumps({"class": self.subject.kafka_class, "request": self.body}) + b"\n"


def life(seed: int, number: int) -> Iterator[Case]:
    """The rebalances of a group, until it fails."""
    random = Random(f"{seed}-{number}")
    subject = SUBJECTS[number % len(SUBJECTS)]
    moves = "sticky" in subject.assignor.name and random.random() < 0.02
    body = nearly_endless(random) if moves else first_group(subject.protocol, random)
    for rebalance in range(random.choice((1, 1, 3, 6, 10))):
        answer = ours(subject, body)
        yield Case(number, rebalance, subject, body, answer)
        if "assignments" not in answer:
            return
        body = copy.deepcopy(body)
        if subject.protocol == "classic":
            body = change(random, body, answer["assignments"], rebalance + 1)
        else:
            body = groups.change_of_coordinator(random, body, answer["assignments"])


# ---- the JVM -----------------------------------------------------------------------------------------------------------


class Kafka:
    """A JVM that is asked ahead: questions wait in its pipe while answers to earlier ones are compared.

    patience : seconds for an answer
    """

    START = 60.0
    """Seconds for a new JVM's first answer."""

    def __init__(self, start: Callable[[], parity.Assignors], patience: float = 60.0) -> None:
        self._start = start
        self._patience = patience
        self.waiting: deque[Case] = deque()
        self._connect()

    def _connect(self) -> None:
        process = self._process = self._start()._process
        self._awake = False
        self._questions: SimpleQueue[bytes] = SimpleQueue()
        self._answers: SimpleQueue[bytes] = SimpleQueue()
        questions, answers = self._questions, self._answers

        def write() -> None:
            try:
                with process.stdin:
                    while question := questions.get():
                        process.stdin.write(question)
                        process.stdin.flush()
            except OSError:
                pass  # the JVM is gone, which the reader notices

        def read() -> None:
            while line := process.stdout.readline():
                answers.put(line)
            answers.put(b"")
            process.stdout.close()

        self._threads = [threading.Thread(target=work, daemon=True) for work in (write, read)]
        for thread in self._threads:
            thread.start()

    def ask(self, case: Case) -> None:
        """Put a question."""
        self.waiting.append(case)
        self._questions.put(case.question())

    def answer(self) -> tuple[Case, Body | None]:
        """The oldest question and its answer, None if there is none: the JVM thinks for too long, or has died of it."""
        try:
            line = self._answers.get(timeout=self._patience if self._awake else self.START)
        except Empty:
            line = b""
        case = self.waiting.popleft()
        if line:
            self._awake = True
            return case, orjson.loads(line)
        self.close()
        self._connect()
        for later in self.waiting:
            self._questions.put(later.question())
        return case, None

    def close(self) -> None:
        """End the JVM."""
        self._questions.put(b"")
        self._process.kill()
        self._process.wait()
        for thread in self._threads:
            thread.join()


def start(subject: Subject) -> Kafka:
    """The JVM for a subject; our own, not the one that other tests share."""
    if subject.protocol == "classic":
        return Kafka(lambda: parity.group_leader.__wrapped__(subject.release))
    return Kafka(lambda: parity.group_coordinator.__wrapped__(subject.release))


# ---- comparing ---------------------------------------------------------------------------------------------------------


class Differs(Exception):
    """Kafka's answer to a case is another one."""

    def __init__(self, case: Case, kafkas: Body | None) -> None:
        super().__init__(f"{case.subject}, group {case.number}, rebalance {case.rebalance}")
        self.case = case
        self.kafkas = kafkas


class Comparison:
    """Every assignor beside Kafka's own, and how often what came of it.

    counts : by (subject, what), what being one of ``COLUMNS``
    endless : the cases that we say Kafka never answers, until ``finish`` has put them to it
    """

    COLUMNS = ("alike", "fail alike", "open, alike", "open, unlike", "endless", "refused")
    AHEAD = 300
    """Questions that may wait in one JVM's pipe."""
    PATIENCE = 2.0
    """Seconds of a processor's time after which an assignor is taken never to end; groups that small take milliseconds."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.counts: Counter[tuple[str, str]] = Counter()
        self.endless: list[Case] = []
        self._kafkas: dict[tuple[bool, str], Kafka] = {}

    def kafka(self, subject: Subject) -> Kafka:
        """The JVM that has this subject's class."""
        key = (subject.protocol == "classic", subject.release)
        if key not in self._kafkas:
            self._kafkas[key] = start(subject)
        return self._kafkas[key]

    def run(self, cases: int, progress: Callable[[int], object] = lambda _: None) -> None:
        """Compare so many cases, from group 0 on. Raises Differs at the first that is not alike."""
        all_cases = (case for number in count() for case in life(self.seed, number))
        for done, case in zip(range(1, cases + 1), all_cases, strict=False):
            self.take(case)
            if done % 100 == 0 or done == cases:
                progress(done)
        self.finish()

    def take(self, case: Case) -> None:
        """Ask Kafka as well, and look at an earlier answer if enough are under way."""
        if "apart" in case.ours:
            self.counts[str(case.subject), case.ours["apart"]] += 1
            if case.ours["apart"] == "endless":
                self.endless.append(case)
            return
        kafka = self.kafka(case.subject)
        kafka.ask(case)
        if len(kafka.waiting) > self.AHEAD:
            self._compare(*kafka.answer())

    def finish(self) -> None:
        """Look at the answers that are still under way."""
        for kafka in self._kafkas.values():
            while kafka.waiting:
                self._compare(*kafka.answer())
        self._confirm_endless()

    def _confirm_endless(self) -> None:
        """Let Kafka work at the endless groups, each in a thread of its own; raise Differs if it comes to an end."""
        cases, self.endless = self.endless, []
        for kafka_class, release in {(case.subject.kafka_class, case.subject.release) for case in cases}:
            of_class = [case for case in cases if (case.subject.kafka_class, case.subject.release) == (kafka_class, release)]
            leader = parity.group_leader.__wrapped__(release)
            try:
                ended = leader.ended(kafka_class, [case.body for case in of_class], self.PATIENCE)
            finally:
                leader.kill()
            for case, has_ended in zip(of_class, ended, strict=True):
                if has_ended:
                    raise Differs(case, {"ended": True})

    def _compare(self, case: Case, kafkas: Body | None) -> None:
        alike = case.ours == kafkas
        if settled_by_java(case.subject, case.body):
            if not alike:
                raise Differs(case, kafkas)
            what = "alike" if "assignments" in case.ours else "fail alike"
        else:
            what = "open, alike" if alike else "open, unlike"
        self.counts[str(case.subject), what] += 1

    def shrunk(self, found: Differs) -> Differs:
        """A smaller case that differs: whatever can be left out is left out, one thing at a time."""
        self.close()  # whose questions are still under way
        if "apart" in found.case.ours:
            return found
        smallest, left_out = found, True
        while left_out:
            left_out = False
            for body in smaller(smallest.case.body):
                answer = ours(found.case.subject, body)
                if "apart" in answer or not settled_by_java(found.case.subject, body):
                    continue
                case = Case(found.case.number, found.case.rebalance, found.case.subject, body, answer)
                self.kafka(case.subject).ask(case)
                _, kafkas = self.kafka(case.subject).answer()
                if kafkas != answer:
                    smallest, left_out = Differs(case, kafkas), True
                    break
        return smallest

    def close(self) -> None:
        """End the JVMs."""
        while self._kafkas:
            self._kafkas.popitem()[1].close()


def table(counts: Counter[tuple[str, str]]) -> Table:
    """A row for each assignor, a column for each way in which a case can end."""
    shown = Table("assignor", box=box.SIMPLE, padding=0, collapse_padding=True)
    for column in ("cases", *Comparison.COLUMNS):
        shown.add_column(column.replace(" ", "\n"), justify="right", no_wrap=True)
    rows = {str(subject): [counts[str(subject), what] for what in Comparison.COLUMNS] for subject in SUBJECTS}
    rows["all"] = [sum(column) for column in zip(*rows.values(), strict=True)]
    for name, row in rows.items():
        shown.add_row(name, *(f"{n:,}" for n in (sum(row), *row)))
    return shown


def show(console: Console, what: str, found: Differs) -> None:
    """A case that differs, as a body to post and the two answers."""
    body = {"group_protocol": found.case.subject.protocol, "assignor": found.case.subject.assignor.name, **found.case.body}
    console.print(f"{what}: {found}", style="bold red")
    for title, value in (("body", body), ("ours", found.case.ours), ("Kafka", found.kafkas)):
        console.print(f"{title}: {orjson.dumps(value).decode()}", soft_wrap=True, markup=False, highlight=False)


@click.command()
@click.option("--cases", default=100_000, show_default=True, help="Rebalances to compare.")
@click.option("--seed", default=20_261_121, show_default=True, help="Another seed draws other groups.")
@click.option("--group", default=None, type=int, help="Only this group of the seed, each of its rebalances printed.")
def main(cases: int, seed: int, group: int | None) -> None:
    """Compare every assignor with Kafka's own class on random groups."""
    console = Console()
    comparison = Comparison(seed)
    try:
        if group is not None:
            for case in life(seed, group):
                console.print_json(orjson.dumps({"rebalance": case.rebalance, "body": case.body, "ours": case.ours}).decode())
                comparison.take(case)
            comparison.finish()
        else:
            columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
            with Progress(TextColumn("seed {task.fields[seed]}"), *columns, console=console) as progress:
                task = progress.add_task("", total=cases, seed=seed)
                comparison.run(cases, lambda done: progress.update(task, completed=done))
        console.print(table(comparison.counts))
    except Differs as found:
        show(console, "differs", found)
        show(console, "smallest that differs", comparison.shrunk(found))
        sys.exit(1)
    finally:
        comparison.close()


if __name__ == "__main__":
    main()
