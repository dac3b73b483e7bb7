"""A long comparison with the real assignors: ``python -m tests.runs.long_parity [--cases 100000] [--seed 20261121] [--group N]``.

Random groups live through a few rebalances each; every rebalance is one case, and the whole answer to it, or the failure, is
compared with that of Kafka's own class. Group N of a seed is always the same one. The next rebalance of a group begins with our
answer to the one before: so all questions to the JVM can be asked ahead, and once an answer differs the run is over anyway.
"""

from __future__ import annotations

import base64
import copy
import sys
import threading
from collections import Counter, deque
from dataclasses import dataclass
from itertools import count, product
from queue import Empty, SimpleQueue
from random import Random
from typing import TYPE_CHECKING, Any

import click
import orjson
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from service.api.groups.document import assignments_json
from service.core.assignors import GROUP_PROTOCOLS, KAFKAS
from service.core.errors import InvalidQuestion, KafkaAssignorFails
from service.core.ragged import transposed
from service.decisions.groups.tables import in_answer_order
from service.web.json.codec import dumps
from tests.support import golden, parity, server_groups
from tests.support.groups import RACKS, group_of
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

ALIKE = tuple("".join(pairs) for pairs in product(("Aa", "BB"), repeat=6))
"""Strings with one hash code."""


def names(random: Random, size: int) -> list[str]:
    """Different names, in one of the manners in which people name things, or so that their hash codes are equal."""
    style = random.randrange(6)
    if style == 0:
        return random.sample(ALIKE, size)
    if style == 1:
        return [*random.sample(ALIKE, size // 2), *(f"c{i}" for i in range(size - size // 2))]
    if style == 2:
        return [random.choice(("é", "Ж", "東", "\U0001f418", "\uffee", "_", "Z")) + str(i) for i in range(size)]
    if style == 3:
        return [f"consumer-app-{i + 1}-{random.getrandbits(128):032x}" for i in range(size)]
    start = random.randrange(120)
    return [f"{'t-' if style == 4 else 'member-000'}{start + i}" for i in range(size)]


def topic_ids(random: Random, size: int) -> list[str]:
    """Uuids; now and then some whose hash codes are all equal."""
    halves = [random.randbytes(8) for _ in range(size)]
    alike = random.random() < 0.1
    raw = [half + (half if alike else random.randbytes(8)) for half in halves]
    return [base64.urlsafe_b64encode(one).decode().rstrip("=") for one in raw]


def first_group(subject: Subject, random: Random) -> Body:
    """Up to 40 members and 10 topics, and whatever the members claim to have had."""
    size = random.randint(0, random.choice((1, 3, 10)))
    topics: list[Body] = [
        {"topic_name": name, "topic_id": topic_id, "partitions_count": random.randint(1, random.choice((2, 9, 9, 30)))}
        for name, topic_id in zip(names(random, size), topic_ids(random, size), strict=True)
    ]
    if random.random() < 0.3:  # which is what lets range look at several topics together
        for topic in topics:
            topic["partitions_count"] = topics[0]["partitions_count"]
    known = [topic["topic_name"] for topic in topics] + ["unknown"] * random.randint(0, 1)
    members = subscribers(random, names(random, random.randint(random.random() > 0.02, random.choice((2, 6, 14, 40)))), known)
    for i, member in enumerate(members):
        if subject.protocol != "share" and random.random() < 0.2:
            member["instance_id"] = f"{random.choice('ab')}{random.randint(0, 99)}-{i}"
    random.shuffle(members)
    body = {"topics": topics, "members": members}
    if subject.protocol == "classic":
        if random.random() < 0.35:
            give_racks(random, body)
        claim(random, body)
    else:
        server_groups.own(random, topics, members, shared=subject.protocol == "share")
        if random.random() < 0.03:
            claim_anything(random, body)  # which no broker holds
            for member in members:  # but it holds sets
                ids: dict[str, dict[int, None]] = {}
                for row in member.get("owned_partitions", ()):
                    ids.setdefault(row["topic_name"], {}).update(dict.fromkeys(row["partition_ids"]))
                member["owned_partitions"] = [{"topic_name": name, "partition_ids": [*of_one]} for name, of_one in ids.items()]
    return body


def subscribers(random: Random, member_ids: list[str], known: list[str]) -> list[Body]:
    """Members that subscribe to everything, or to one of a few lists, or each to something of its own."""
    lists = [random.sample(known, random.randint(0, len(known))) for _ in range(random.randint(1, 4))]
    how = random.choice(("everything", "few lists", "own list"))
    members: list[Body] = [{"member_id": member_id} for member_id in member_ids]
    for member in members:
        if how == "few lists":
            member["topic_names"] = random.choice(lists)
        elif how == "own list":
            fewest = min(random.random() < 0.9, len(known))
            member["topic_names"] = random.sample(known, random.randint(fewest, len(known)))
        elif random.random() < 0.8:
            member["topic_names"] = random.sample(known, len(known))
    return members


def give_racks(random: Random, body: Body) -> None:
    """Racks for most replicas and members; some match none."""
    for topic in body["topics"]:
        if random.random() < 0.85:
            replicas = random.choice((0, 1, 2, 3))
            topic["partition_racks"] = [
                random.sample((*RACKS, ""), min(replicas, random.randint(0, 4))) for _ in range(topic["partitions_count"])
            ]
    for member in body["members"]:
        if random.random() < 0.85:
            member["rack_id"] = random.choice((*RACKS, *RACKS, "elsewhere", ""))


def claim(random: Random, body: Body) -> None:
    """A previous assignment: of everybody or few, even or lopsided, of one generation or several, disputed or not."""
    how = random.choice(("nothing", "anything", "lopsided", "lopsided", "scattered"))
    generations = random.choice(((5,), (5,), (3, 4, 5), (-1, 4, 5)))
    for member in body["members"]:
        if random.random() < 0.9:
            member["generation_id"] = random.choice(generations)
    if how == "anything":
        claim_anything(random, body)
    elif how != "nothing":
        disputed = random.choice((0, 0, 0.05, 0.3))
        known = [topic["topic_name"] for topic in body["topics"]]
        for topic in body["topics"]:
            subscribers = [member for member in body["members"] if topic["topic_name"] in member.get("topic_names", known)]
            if not subscribers or random.random() < 0.2:
                continue
            main = random.choice(subscribers)
            for partition_id in range(topic["partitions_count"]):
                lopsided = how == "lopsided" and random.random() < 0.7
                give(main if lopsided else random.choice(subscribers), topic["topic_name"], partition_id)
                if random.random() < disputed:
                    give(random.choice(subscribers), topic["topic_name"], partition_id)


def claim_anything(random: Random, body: Body) -> None:
    """Claims to what the member does not subscribe to, to what others have, to what there is not."""
    counts = {topic["topic_name"]: topic["partitions_count"] for topic in body["topics"]} | {"gone": 3}
    beyond = 2 * (random.random() < 0.2)
    for member in body["members"]:
        if random.random() < 0.6:
            for name in random.choices([*counts], k=random.randint(1, 4)):
                for _ in range(random.randint(0, 5)):
                    give(member, name, random.randrange(counts[name] + beyond))


def give(member: Body, topic_name: str, partition_id: int) -> None:
    """One more row, or one more id in the last row."""
    rows = member.setdefault("owned_partitions", [])
    if not rows or rows[-1]["topic_name"] != topic_name:
        rows.append({"topic_name": topic_name, "partition_ids": []})
    rows[-1]["partition_ids"].append(partition_id)


def change(random: Random, body: Body, assignments: list[Body], rebalance: int) -> Body:
    """A classic group after a rebalance: its members are a generation on and have what they were given, and something happens."""
    had = {one["member_id"]: one["partitions"] for one in assignments}
    members: list[Body] = []
    for member in body["members"]:
        if random.random() < 0.03:  # it has missed the rebalance, or comes back without memory
            members.append(member if random.random() < 0.5 else {**member, "owned_partitions": [], "generation_id": -1})
        else:
            members.append({**member, "owned_partitions": had[member["member_id"]], "generation_id": 5 + rebalance})
    after = {"topics": [dict(topic) for topic in body["topics"]], "members": members}
    event = random.choice((leave, leave, join, join, resize, resize, add_topic, drop_topic, subscribe, None))
    if event and members and after["topics"]:
        event(random, after)
    return after


def leave(random: Random, body: Body) -> None:
    """Some members go."""
    for _ in range(min(len(body["members"]), random.randint(1, 3))):
        body["members"].pop(random.randrange(len(body["members"])))


def join(random: Random, body: Body) -> None:
    """A member comes, anywhere in the order."""
    newcomer = {**random.choice(body["members"]), "member_id": f"joined-{random.getrandbits(32)}"}
    newcomer |= {"owned_partitions": [], "generation_id": -1}
    newcomer.pop("instance_id", None)
    body["members"].insert(random.randint(0, len(body["members"])), newcomer)


def resize(random: Random, body: Body) -> None:
    """A topic gets more partitions, or is made again with fewer."""
    topic = random.choice(body["topics"])
    topic["partitions_count"] = max(1, topic["partitions_count"] + random.choice((-2, -1, 1, 2, 3, 4, 5, 6)))
    if "partition_racks" in topic:
        topic["partition_racks"] = (topic["partition_racks"] + [["a"]] * 6)[: topic["partitions_count"]]


def add_topic(random: Random, body: Body) -> None:
    """A topic comes, to which most subscribe."""
    name = f"later-{random.getrandbits(32)}"
    body["topics"].append({"topic_name": name, "partitions_count": random.randint(1, 9)})
    for member in body["members"]:
        if "topic_names" in member and random.random() < 0.8:
            member["topic_names"] = [*member["topic_names"], name]


def drop_topic(random: Random, body: Body) -> None:
    """A topic goes."""
    body["topics"].pop(random.randrange(len(body["topics"])))


def subscribe(random: Random, body: Body) -> None:
    """A member subscribes to something else."""
    known = [topic["topic_name"] for topic in body["topics"]]
    random.choice(body["members"])["topic_names"] = random.sample(known, random.randint(1, len(known)))


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
    body = nearly_endless(random) if moves else first_group(subject, random)
    for rebalance in range(random.choice((1, 1, 3, 6, 10))):
        answer = ours(subject, body)
        yield Case(number, rebalance, subject, body, answer)
        if "assignments" not in answer:
            return
        body = copy.deepcopy(body)
        if subject.protocol == "classic":
            body = change(random, body, answer["assignments"], rebalance + 1)
        else:
            body = server_groups.change(random, body, answer["assignments"])


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


def without(body: Body, *path: Any) -> Body:
    """The body less what stands at this path."""
    less = copy.deepcopy(body)
    at: Any = less
    for step in path[:-1]:
        at = at[step]
    del at[path[-1]]
    return less


def smaller(body: Body) -> Iterator[Body]:
    """The body with one thing left out: a member, a topic, a partition, something a member says."""
    for m, member in enumerate(body["members"]):
        yield without(body, "members", m)
        for part in sorted(member.keys() - {"member_id"}):
            yield without(body, "members", m, part)
        for i in range(len(member.get("topic_names", ()))):
            yield without(body, "members", m, "topic_names", i)
        for row, owned in enumerate(member.get("owned_partitions", ())):
            yield without(body, "members", m, "owned_partitions", row)
            for i in range(len(owned["partition_ids"])):
                yield without(body, "members", m, "owned_partitions", row, "partition_ids", i)
    for t, topic in enumerate(body["topics"]):
        yield without(body, "topics", t)
        if "partition_racks" in topic:
            yield without(body, "topics", t, "partition_racks")
        elif topic["partitions_count"] > 1:
            yield {
                **body,
                "topics": [{**one, "partitions_count": one["partitions_count"] - (one is topic)} for one in body["topics"]],
            }


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
