"""``partition-allocator conform``."""

from __future__ import annotations

import json
import sys
from xml.etree.ElementTree import fromstring

from click.testing import CliRunner

from service.cli import main

BROKEN = ("--", sys.executable, "-m", "tests.support.conforming", "broken")


def test_a_program_that_differs() -> None:
    """Its first wrong answer, whole and made small; the exit status is 1."""
    result = CliRunner().invoke(main, ["conform", "--subject", "range", "--output", "json", *BROKEN])
    (document,) = json.loads(result.stdout)["subjects"]
    assert (result.exit_code, document["verdict"], document["unsupported"].keys()) == (1, "differs", {"racks"})
    assert len(document["smallest"]["request"]["members"]) == 2
    assert document["smallest"]["expected"] != document["smallest"]["answer"]


def test_junit() -> None:
    """A test case for each vector; the one that differs fails."""
    result = CliRunner().invoke(main, ["conform", "--subject", "partitioner/java", "--output", "junit", *BROKEN])
    suite = fromstring(result.stdout).find("testsuite")  # noqa: S314 - our own
    assert suite is not None
    assert (result.exit_code, suite.get("name"), suite.get("failures")) == (1, "partitioner/java", "1")
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert "goes to partition" in (failure.text or "")


def test_a_table() -> None:
    """With the smallest question below it."""
    result = CliRunner().invoke(main, ["conform", "--subject", "range", "--output", "table", *BROKEN])
    assert "✗ differs" in result.stdout
    assert "The smallest question found that differs: partition 0 of " in result.stdout


def test_what_cannot_be_compared() -> None:
    """A program that says nothing of itself needs --subject; one that is not there cannot be started, nor is an option one."""
    silent = CliRunner().invoke(main, ["conform", *BROKEN])
    missing = CliRunner().invoke(main, ["conform", "--", "/no/such/program"])
    mistyped = CliRunner().invoke(main, ["conform", "--cses", "5", *BROKEN])
    assert (silent.exit_code, missing.exit_code, mistyped.exit_code) == (2, 2, 2)
    assert "No such option '--cses'" in mistyped.stderr
    assert "does not say what it" in silent.stderr
    assert "/no/such/program: it cannot be started" in missing.stderr


def test_nothing_is_compared() -> None:
    """A program that answers no question of a subject does not pass."""
    answer = '{"conform": 1, "id": json.loads(line).get("id"), "unsupported": "all"}'
    code = f"import json, sys\nfor line in sys.stdin: print(json.dumps({answer}), flush=True)"
    arguments = ["conform", "--subject", "range", "--cases", "2", "--", sys.executable, "-c", code]
    tables, junit = (CliRunner().invoke(main, [*arguments[:5], "--output", form, *arguments[5:]]) for form in ("table", "junit"))
    assert (tables.exit_code, junit.exit_code) == (1, 1)
    assert "– not compared" in tables.stdout
    suite = fromstring(junit.stdout).find("testsuite")  # noqa: S314 - our own
    assert suite is not None
    assert (suite.get("tests"), suite.get("skipped"), suite.get("failures")) == ("1", "1", "0")
