"""The chart's schema and its README say what values.yaml says."""

from __future__ import annotations

import json
import re
import shlex

import click
import jsonschema
import pytest

from helm.documents import documents, schema, values
from service.cli import main
from tests.support.charts import CHART, CI_FILES, loaded
from tests.support.golden import PROJECT


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_what_is_written_from_values_and_code_is_committed(path):
    """`make chart` would change nothing."""
    assert path.read_text() == documents()[path], f"run `make chart`: {path.relative_to(PROJECT)} is out of date"


@pytest.mark.parametrize("path", [CHART / "values.yaml", *CI_FILES], ids=lambda path: path.name)
def test_the_schema_accepts_the_defaults_and_what_ci_sets(path):
    defaults = loaded((CHART / "values.yaml").read_text())
    stated = schema((CHART / "values.yaml").read_text())
    jsonschema.Draft7Validator.check_schema(stated)
    jsonschema.validate(_merged(defaults, loaded(path.read_text())), stated)


def test_the_schema_knows_each_setting_of_the_service():
    settings = json.loads((CHART / "values.schema.json").read_text())["properties"]["settings"]["properties"]
    assert settings["max_keys"]["type"] == "integer"
    assert not {"auth", "tokens_file", "jwks", "tls_key"} & set(settings), "these have values of their own"


def test_a_value_must_say_what_it_means():
    with pytest.raises(ValueError, match=r"image\.tag has no description"):
        values("image:\n  tag: ''\n")


def test_a_meaning_may_take_several_lines_and_a_schema_adds_to_the_kind_of_the_default():
    text = "# -- Pods,\n# all of them.\n# @schema {minimum: 0}\nreplicas: 2\n"
    assert schema(text)["properties"]["replicas"] == {"type": "integer", "description": "Pods, all of them.", "minimum": 0}


GUIDE = (PROJECT / "docs" / "operations.md").read_text()
RULES = loaded((CHART / "rules" / "partition-allocator.yaml").read_text())
ALERTS = {rule["alert"]: rule for group in RULES["groups"] for rule in group["rules"] if "alert" in rule}


def test_the_guide_says_of_each_alert_what_to_do():
    """And of nothing else; each has some sentences."""
    _, _, section = GUIDE.partition("\n## Alerts\n")
    section, _, _ = section.partition("\n## ")
    parts = dict(re.findall(r"^### (\w+)\n\n((?:.+\n?)+)", section, re.MULTILINE))
    assert set(parts) == set(ALERTS)
    assert min(map(len, parts.values())) > 100


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_links_to_its_section(alert):
    path, _, anchor = ALERTS[alert]["annotations"]["runbook_url"].partition("#")
    assert (PROJECT / path).read_text() == GUIDE
    assert anchor == alert.lower()
    assert ALERTS[alert]["labels"]["severity"] in {"critical", "warning", "info"}


def test_the_guides_values_and_panels_exist():
    """What it sets by --set, names by a dotted path, and calls the dashboard's panels."""
    known = {".".join(value.path) for value in values((CHART / "values.yaml").read_text())}
    settings = set(json.loads((CHART / "values.schema.json").read_text())["properties"]["settings"]["properties"])
    sections = {name.partition(".")[0] for name in known}
    named = set(re.findall(r"`([a-zA-Z]+(?:\.\w+)+)(?:: [^`]*)?`", GUIDE)) | set(re.findall(r"--set '?([\w.]+)=", GUIDE))
    for name in named:
        section, _, rest = name.partition(".")
        if section == "settings":
            assert rest in settings, name
        elif section in sections:
            assert name in known, name
    boards = [CHART / "dashboards" / f"partition-allocator{name}.json" for name in ("", "-cluster")]
    titles = {panel["title"] for board in boards for panel in json.loads(board.read_text())["panels"]}
    for panel in re.findall(r"\*([A-Z][^*\n]+)\*(?!\*)", GUIDE):
        assert panel.strip() in titles or f"**{panel}**" in GUIDE, panel


def test_the_guides_commands_exist():
    for line in re.findall(r"\$ partition-allocator (.*)", GUIDE + (CHART / "README.md").read_text()):
        name, *options = shlex.split(line.partition("#")[0].partition(">")[0])
        command = main.get_command(click.Context(main), name)
        assert command is not None, name
        known = {option for parameter in command.params for option in parameter.opts}
        assert {option for option in options if option.startswith("--")} <= known


def test_the_former_names_of_metrics_are_recorded():
    """Of every metric that a reader of the reference finds, for one release."""
    former = {rule["record"]: rule["expr"] for rule in RULES["groups"][-1]["rules"]}
    assert all(name == f"partition_{record}" for record, name in former.items())
    listed = re.findall(r"^\| `(partition_allocator_\w+)`", (PROJECT / "docs" / "reference.md").read_text(), re.MULTILINE)
    recorded = {name.removesuffix("_bucket") for name in former.values()}
    assert set(listed) - recorded == {"partition_allocator_decision_phase_seconds_total"}


def _merged(defaults, changes):
    if isinstance(defaults, dict) and isinstance(changes, dict):
        return {**defaults, **{key: _merged(defaults.get(key), value) for key, value in changes.items()}}
    return changes
