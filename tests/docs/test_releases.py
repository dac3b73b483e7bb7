"""A new Kafka release touches a handful of files: those that name the newest one."""

from __future__ import annotations

import re
import subprocess

from service.core.kafka_versions import LATEST
from tests.support.golden import PROJECT

CONTRIBUTING = (PROJECT / "CONTRIBUTING.md").read_text()

GENERATED = {"openapi.yaml", "docs/evidence/parity.md"}
CHANGES = {
    "service/api/streams.py": "4.4.0",
    "service/wire/schemas.py": "4.4.0",
    "service/clients/streams/__init__.py": "4.4.0",
    "service/clients/streams/sticky.py": "4.4.0",
    "service/core/placers/controller.py": "4.4.0",
    "service/planner/timelines/consumer/coordinator.py": "4.4.0",
    "service/api/keyless.py": "4.4.0",
    "docs/consumers.md": "4.4.0",
    "docs/groups.md": "4.4.0",
    "docs/assignors.md": "4.4.0",
}
"""Files that say what changed in a release, and which; the next release leaves them as they are."""
OTHER_PROGRAMS = {"docs/pipeline.md": "Delta 4.4.0"}


def naming(release: str) -> set[str]:
    """The tracked files that name a release, but those of other programs, tests, locks and the history."""
    found = subprocess.run(["git", "grep", "-lF", release], cwd=PROJECT, check=True, capture_output=True, text=True).stdout
    files = {file for file in found.split() if not file.startswith("tests/") and not file.endswith(".lock")}
    return files - OTHER_PROGRAMS.keys() - {"CHANGELOG.md"}


def test_the_newest_release_is_named_in_the_files_of_the_task_and_where_it_changed_something():
    (row,) = re.findall(r"^\| A Kafka release \| (.*?) \|$", CONTRIBUTING, re.MULTILINE)
    by_hand = set(re.findall(r"`([^`]+)`", row.partition("generated")[0]))
    assert len(by_hand) + len(GENERATED) <= 6
    changed = {file for file, release in CHANGES.items() if release == LATEST}
    assert naming(LATEST) == by_hand | GENERATED | changed


def test_every_file_of_the_seven_tasks_exists():
    section = CONTRIBUTING.partition("## Seven tasks")[2].partition("## Vectors")[0]
    for file in re.findall(r"`((?:service|docs|partition_allocator|helm|tests)/[^`]*)`", section):
        assert (PROJECT / file).exists(), file
    assert section.count("\n| A") == 7


def test_no_docstring_names_the_newest_release_as_that_of_a_class():
    files = subprocess.run(["git", "ls-files", "service/*.py"], cwd=PROJECT, check=True, capture_output=True, text=True).stdout
    for file in files.split():
        assert not re.search(r"\((Apache Kafka|kafka-(clients|metadata|tools)) [0-9.]+\)", (PROJECT / file).read_text()), file
