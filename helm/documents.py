"""Generates the chart's schema, table of values and dashboards, and the tables of settings in the documents.

    python -m helm.documents        # `make chart` runs it

In values.yaml, the comment above a value describes it: ``# --`` begins the description for the README, ``# @schema`` adds JSON
Schema for Helm, as a YAML mapping (``$ref`` names one of the shapes below).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from helm.dashboards import DASHBOARDS
from helm.panels import text as dashboard_text
from service.config import Settings, environment_name, settings_table

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).parents[1]
CHART = PROJECT / "helm" / "partition-allocator"

TYPES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
"""The JSON Schema type of a default."""

NOT_UNDER_SETTINGS = re.compile("auth|tokens_file|jwks|jwt_audience|jwt_issuer|tls_.*|otlp_endpoint")
"""Settings with values of their own, since they need Secrets or network rules."""


@dataclass(frozen=True)
class Value:
    """A value of the chart."""

    path: tuple[str, ...]
    default: Any
    meaning: str | None
    """None for a section"""
    schema: dict[str, Any]
    """from ``# @schema``"""


def values(text: str) -> list[Value]:
    """The values of a values.yaml, sections before their contents. Raises ValueError for a value without a description."""
    lines = text.splitlines()

    def walk(node: yaml.MappingNode, path: tuple[str, ...]) -> Iterator[Value]:
        for key, inner in node.value:
            meaning, schema = _comment(lines, key.start_mark.line)
            here = (*path, key.value)
            section = isinstance(inner, yaml.MappingNode) and meaning is None
            if not section and meaning is None:
                raise ValueError(f"{'.'.join(here)} has no description (a comment that begins with '# --')")
            yield Value(here, yaml.safe_load(yaml.serialize(inner)), meaning, schema)
            if section:
                yield from walk(inner, here)

    root = yaml.compose(text)
    assert isinstance(root, yaml.MappingNode)  # noqa: S101 - a chart's values.yaml is a mapping
    return list(walk(root, ()))


def _comment(lines: list[str], line: int) -> tuple[str | None, dict[str, Any]]:
    """The comment above a line: the text of its ``# --``, and its ``# @schema``."""
    first = line
    while first and lines[first - 1].lstrip().startswith("# "):
        first -= 1
    block = [text.strip().removeprefix("# ") for text in lines[first:line]]
    schema: dict[str, Any] = next(
        (yaml.safe_load(text.removeprefix("@schema ")) for text in block if text.startswith("@schema ")), {}
    )
    words = [text for text in block if not text.startswith("@schema ")]
    if not words or not words[0].startswith("-- "):
        return None, schema
    return " ".join(words).removeprefix("-- "), schema


def _shapes() -> dict[str, dict[str, Any]]:
    """The shapes that ``$ref`` can name."""
    settings: dict[str, dict[str, Any]] = {}
    for name, setting in Settings.__dataclass_fields__.items():
        if not NOT_UNDER_SETTINGS.fullmatch(name):
            choices: tuple[str, ...] | None = setting.metadata["one_of"]
            kind = (
                {"type": "integer", "minimum": min(1, setting.default)}
                if isinstance(setting.default, int)
                else {"type": "string"}
            )
            settings[name] = {**kind, **({"enum": list(choices)} if choices else {}), "description": setting.metadata["summary"]}
    return {
        "#/$defs/strings": {"additionalProperties": {"type": "string"}},
        "#/$defs/settings": {"properties": settings, "additionalProperties": False},
    }


def schema(text: str) -> dict[str, Any]:
    """The JSON Schema of a values.yaml. It rejects unknown values, and values whose type is not that of the default."""
    shapes = _shapes()
    root: dict[str, Any] = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Values of the chart partition-allocator",
        "type": "object",
        "properties": {
            "global": {"type": "object", "description": "Values that a parent chart shares with its subcharts; not used."}
        },
        "required": [],
        "additionalProperties": False,
    }
    nodes: dict[tuple[str, ...], dict[str, Any]] = {(): root}
    for value in values(text):
        node: dict[str, Any] = {"type": TYPES[type(value.default)]}
        if value.meaning is None:
            node |= {"properties": {}, "required": [], "additionalProperties": False}
        else:
            node["description"] = value.meaning
        added = dict(value.schema)
        node |= shapes[added.pop("$ref")] if "$ref" in added else {}
        nodes[value.path] = node | added
        parent = nodes[value.path[:-1]]
        parent["properties"][value.path[-1]] = nodes[value.path]
        if value.default is not None:
            parent["required"].append(value.path[-1])
    return root


def table_of_values(text: str) -> str:
    """The values as a Markdown table."""
    rows = [
        f"| `{'.'.join(value.path)}` | `{json.dumps(value.default)}` | {value.meaning.replace('|', chr(92) + '|')} |"
        for value in values(text)
        if value.meaning is not None
    ]
    return "\n".join(["| value | default | meaning |", "| --- | --- | --- |", *rows])


def table_of_settings() -> str:
    """The service's settings as a Markdown table, with the value of the chart that sets each."""
    own = {
        "auth": "auth.mode",
        "tokens_file": "auth.existingSecret",
        "otlp_endpoint": "extraEnv",
        "jwks": "auth.jwt.jwks",
        "jwt_audience": "auth.jwt.audience",
        "jwt_issuer": "auth.jwt.issuer",
        "tls_cert": "tls.existingSecret",
        "tls_key": "tls.existingSecret",
    }
    in_chart = {environment_name(name): own.get(name, f"settings.{name}") for name in Settings.__dataclass_fields__}
    rows = [f"| `{name}` | {default} | {summary} | `{in_chart[name]}` |" for name, default, summary in settings_table()]
    return "\n".join(["| variable | default | meaning | in the chart |", "| --- | --- | --- | --- |", *rows])


def between_marks(document: str, mark: str, text: str) -> str:
    """The document with ``text`` between ``<!-- mark -->`` and ``<!-- end of mark -->``."""
    begin, end = f"<!-- {mark} -->\n", f"<!-- end of {mark} -->"
    before, _, rest = document.partition(begin)
    return f"{before}{begin}\n{text}\n\n{end}{rest.partition(end)[2]}"


def documents() -> dict[Path, str]:
    """Every generated or partly generated file, and its content."""
    text = (CHART / "values.yaml").read_text()
    readme, guide = CHART / "README.md", PROJECT / "docs" / "operations.md"
    return {
        **{CHART / "dashboards" / name: dashboard_text(board()) for name, board in DASHBOARDS.items()},
        CHART / "values.schema.json": json.dumps(schema(text), indent=2, ensure_ascii=False) + "\n",
        readme: between_marks(readme.read_text(), "values", table_of_values(text)),
        guide: between_marks(guide.read_text(), "settings", table_of_settings()),
    }


if __name__ == "__main__":
    for path, content in documents().items():
        path.write_text(content)
