"""The documents tell the truth: settings, commands and examples are those of the code."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from service.config import settings_table
from tests.support.golden import PROJECT

README = (PROJECT / "README.md").read_text()


def test_the_readme_lists_every_setting_with_its_default_and_meaning():
    for variable, default, summary in settings_table():
        assert f"| `{variable}` | {default} | {summary} |" in README


def test_every_make_command_of_the_readme_exists():
    makefile = (PROJECT / "Makefile").read_text()
    for command in set(re.findall(r"`make ([a-z-]+)`", README)):
        assert re.search(rf"^{command}:", makefile, re.MULTILINE), command


EXAMPLES = re.findall(r"```console\n\$ (curl .*?)\n(\{.*?)\n```", README, re.DOTALL)


@pytest.mark.parametrize(("command", "shown"), EXAMPLES)
def test_the_readmes_answers_are_the_services(client, command, shown):
    words = shlex.split(command)[1:]
    url = next(word for word in words if word.startswith("localhost"))
    path = url.removeprefix("localhost:8000")
    body = words[words.index("--json") + 1] if "--json" in words else None
    response = client.post(path, data=body, content_type="application/json") if body else client.get(path)
    assert response.json == json.loads(shown)


def test_the_readme_has_an_example_of_each_decision():
    assert [re.search(r"/v1/[a-z-]+", command).group() for command, _ in EXAMPLES] == [
        "/v1/partitions",
        "/v1/group-assignments",
        "/v1/replica-placements",
        "/v1/partitioner-fingerprints",
        "/v1/partition-count-plans",
    ]


@pytest.mark.parametrize("document", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_file_that_a_document_names_exists(document):
    for name in re.findall(r"`((?:service|tests|docs|benchmarks|demo|helm)/[\w./-]*)`", (PROJECT / document).read_text()):
        assert (PROJECT / name).exists(), name
