"""``conform``: does a program answer as Kafka and its clients do?"""

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final
from xml.etree.ElementTree import Element, SubElement, tostring

import click

from service import parameters
from service.cli import BadInput, GroupedCommand, announce_compilation, note
from service.cli.terminal import Console, table
from service.conformance.comparison import Comparison, Failure, NoAnswer, Program, compare
from service.conformance.subjects import Subject, subject_of
from service.core.errors import InvalidQuestion
from service.core.printable import counted, printable
from service.http.json.codec import dumps
from service.parameters import duration

DIFFERS: Final = 1
"""The exit status of a program that answers otherwise. 2 is for invalid options, and for a program that cannot be asked."""

MARKS: Final = {"alike": "✓ alike", "differs": "✗ differs", "not-compared": "– not compared"}
"""How a verdict looks on a terminal."""

NOTED_SECONDS: Final = 10.0
"""Between two notes of how far a comparison is."""

_SHOWN: Final = 2_000
"""Most characters of a question or an answer on a terminal."""


@click.command(cls=GroupedCommand, context_settings={"ignore_unknown_options": True})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- PROGRAM [ARGUMENT]...")
@click.option(
    "--subject",
    "names",
    multiple=True,
    help="What to compare: classic/range, consumer/uniform, share/simple, classic/librdkafka:range, connect/sessioned, "
    "partitioner/java. "
    "Repeatable. Default: what PROGRAM says that it implements.",
)
@click.option(
    "--cases", type=click.IntRange(0, 10_000_000), default=1000, show_default=True, help="Random questions for each subject."
)
@click.option("--random-seed", "seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of the random questions.")
@click.option("--kafka-version", help="Release of Kafka to compare assignors with. Default: the newest.")
@click.option("--client-version", help="Release of the client, for assignors of clients.")
@click.option(
    "--timeout",
    "seconds",
    type=duration(0.1, 3600),
    default="10s",
    show_default=True,
    help="Time to wait for an answer.",
)
@parameters.output("table", "json", "junit")
def conform(
    *, command: tuple[str, ...], names: tuple[str, ...], cases: int, seed: int, kafka_version: str | None,
    client_version: str | None, seconds: float, output: str | None,
) -> None:  # fmt: skip
    """Compare a program's answers with those of Kafka and its clients.

    partition-allocator conform --subject partitioner/java -- ./my-partitioner

    PROGRAM reads one JSON object per line and answers with one line each; docs/extending.md describes the protocol. It gets
    recorded questions, then random ones until the first answer that differs, whose question is reduced as far as possible. The
    exit status is 1 if an answer differs, or if PROGRAM answers no question of a subject.
    """
    if command[0].startswith("-"):  # unknown options may be those of PROGRAM, but do not stand before it
        raise click.NoSuchOption(command[0])
    announce_compilation()
    program = Program(command, seconds)
    chosen = {"kafka_version": kafka_version, "client_version": client_version}
    try:
        subjects = _subjects(names or program.implements(), {name: value for name, value in chosen.items() if value is not None})
        progress = _progress()
        outcomes = [compare(program, subject, cases, seed, progress) for subject in subjects]
    except NoAnswer as silence:
        raise BadInput(f"{command[0]}: {silence}.") from None
    finally:
        program.close()
    _print(outcomes, parameters.form(output))
    sys.exit(0 if all(outcome.verdict == "alike" for outcome in outcomes) else DIFFERS)


def _subjects(names: Sequence[str], chosen: dict[str, str]) -> list[Subject]:
    if not names:
        raise click.UsageError("Missing option '--subject': the program does not say what it \"implements\".")
    try:
        return [subject_of(name, chosen) for name in dict.fromkeys(names)]
    except InvalidQuestion as error:
        raise BadInput(error.detail) from None


def _progress() -> Callable[[Comparison], None]:
    """Says now and then how far a comparison is."""
    last = time.monotonic()

    def progress(outcome: Comparison) -> None:
        nonlocal last
        if time.monotonic() - last > NOTED_SECONDS:
            last = time.monotonic()
            note(
                f"{outcome.subject.name}: {counted(outcome.drawn, 'random question is', 'random questions are')} answered alike."
            )

    return progress


def _print(outcomes: Sequence[Comparison], form: str) -> None:
    if form == "json":
        click.echo(dumps({"subjects": [_document(outcome) for outcome in outcomes]}))
    elif form == "junit":
        click.echo(tostring(_junit(outcomes), encoding="unicode", xml_declaration=True))
    else:
        console = Console()
        rows = [
            (
                outcome.subject.name,
                MARKS[outcome.verdict],
                str(len(outcome.vectors)),
                str(outcome.drawn),
                str(sum(outcome.unsupported.values())),
            )
            for outcome in outcomes
        ]
        console.print(table(("subject", "verdict", "vectors alike", "random alike", "unsupported"), rows))
        for outcome in outcomes:
            if outcome.failure and outcome.smallest:
                console.say("", *_told(outcome.subject, outcome.failure, outcome.smallest), soft_wrap=True)


def _told(subject: Subject, failure: Failure, smallest: Failure) -> list[str]:
    """The failure, as people read it, on the smallest question; a line each."""
    lines = [f"{subject.name}, {failure.name}: {failure.fault}"]
    if smallest is not failure:
        lines.append(f"The smallest question found that differs: {smallest.fault}")
    shown = {"request": smallest.request, "expected": smallest.expected, "answer": smallest.answer}
    return [*lines, *(f"{name}: {_short(dumps(value).decode())}" for name, value in shown.items())]


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… (--output json has it whole)"


def _document(outcome: Comparison) -> dict[str, Any]:
    failures = {"failure": outcome.failure, "smallest": outcome.smallest}
    return {
        "subject": outcome.subject.name,
        "verdict": outcome.verdict,
        "vectors": len(outcome.vectors),
        "random": outcome.drawn,
        "unsupported": outcome.unsupported,
        **{name: failure and vars(failure) for name, failure in failures.items()},
    }


def _junit(outcomes: Sequence[Comparison]) -> Element:
    """One test suite a subject: a test case for each vector, and one for the random questions."""
    root = Element("testsuites", name="partition-allocator conform")
    for outcome in outcomes:
        drawn = f"{counted(outcome.drawn, 'random question')}"
        names = [*outcome.vectors, *([outcome.failure.name] if outcome.failure else []), *([drawn] if outcome.drawn else [])]
        failures = str(int(outcome.failure is not None))
        tests, skipped = str(len(names) + len(outcome.unsupported)), str(len(outcome.unsupported))
        suite = SubElement(
            root, "testsuite", name=outcome.subject.name, tests=tests, failures=failures, errors="0", skipped=skipped
        )
        for name in names:
            case = SubElement(suite, "testcase", classname=outcome.subject.name, name=printable(name))
            if outcome.failure and outcome.smallest and name == outcome.failure.name:
                failure = SubElement(case, "failure", message=printable(outcome.failure.fault))
                failure.text = "\n".join(map(printable, _told(outcome.subject, outcome.failure, outcome.smallest)))
        for reason, count in outcome.unsupported.items():
            case = SubElement(suite, "testcase", classname=outcome.subject.name, name=f"unsupported: {printable(reason)}")
            SubElement(case, "skipped", message=f"{counted(count, 'question is', 'questions are')} left out")
    return root
