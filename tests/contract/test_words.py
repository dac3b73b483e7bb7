"""One word for each thing: options of the command line and arguments of the library are fields of the endpoint's body."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

import click
import pytest

from partition_allocator import library
from service.cli import COMMANDS, main
from tests.contract import CONTRACT

if TYPE_CHECKING:
    from collections.abc import Iterator

FUNCTIONS = {
    name: match[1]
    for name, function in inspect.getmembers(library, inspect.isfunction)
    if function.__module__ == library.__name__ and (match := re.search(r"``POST (/v1/[\w:-]+)``", function.__doc__ or ""))
}
"""Function of the library → its endpoint."""

ENDPOINTS = {name: FUNCTIONS[name.replace("-", "_")] for name in COMMANDS if name.replace("-", "_") in FUNCTIONS}
ENDPOINTS |= {"splits": FUNCTIONS["assign"]}

OF_LIBRARY = {"output", "racks"}
"""The form of the answer; and on how many racks a number of brokers is."""

OF_TERMINAL = {
    *("snapshot", "file_format", "key_column", "partition_column", "records_column", "bytes_column", "strict", "rack"),
    *("output", "detail", "out", "into", "svg", "html", "draws", "expected", "starting_offsets", "ending_offsets"),
}
"""What is read, and what is done with the answer."""

OF_KAFKAS_TOOLS = {
    "topic": "topic_name",
    "group": "group_id",
    "partitions": "partitions_count",
    "current_partitions": "current_partitions_count",
    "planned_partitions": "planned_partitions_count",
    "planned_members": "planned_members_count",
    "max_partitions": "max_partitions_count",
    "throttle": "throttle_bytes_per_second",
}
VERBS = {"drain": "draining", "cordon": "cordoned", "demote": "demoted", "add": "brokers", "replace": "replaces"}


def names_in(schema: dict[str, Any], above: tuple[str, ...] = ()) -> Iterator[str]:
    """The fields of a schema, at any depth."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in above:
            yield from names_in(CONTRACT["components"]["schemas"][name], (*above, name))
    for name, field in schema.get("properties", {}).items():
        yield name
        yield from names_in(field, above)
    parts = [part for kind in ("allOf", "anyOf", "oneOf") for part in schema.get(kind, ())]
    for part in (*parts, *([schema["items"]] if "items" in schema else ())):
        yield from names_in(part, above)


def fields_of(path: str) -> set[str]:
    """The fields of an endpoint's body, and the parameters of its query."""
    operation = CONTRACT["paths"][path]["post"]
    body = operation["requestBody"]["content"]["application/json"]["schema"]
    return {*names_in(body), *(parameter.get("name") for parameter in operation.get("parameters", ()))}


def is_one(word: str, fields: set[str]) -> bool:
    """Is it a field, one element of it, or a duration, whose value has its unit?"""
    forms = (word, f"{word}s", word.removesuffix("s"), f"{word}_ms", f"{word}_seconds", f"{word}_base64")
    return not fields.isdisjoint(forms)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_arguments_of_the_library_are_fields(name: str) -> None:
    """Those of the table that an argument is, too."""
    parameters = inspect.signature(getattr(library, name)).parameters.values()
    words = {each.name for each in parameters if each.kind is not inspect.Parameter.VAR_KEYWORD} - OF_LIBRARY
    assert {word for word in words if not is_one(word, fields_of(FUNCTIONS[name]))} == set()


@pytest.mark.parametrize("name", sorted(ENDPOINTS))
def test_options_are_fields(name: str) -> None:
    """But for those of Kafka's own tools, verbs, and what happens to a group."""
    command = main.get_command(click.Context(main), name)
    assert command is not None
    options = [each for each in command.params if isinstance(each, click.Option) and not (each.name or "").startswith("event")]
    assert all(len(option.opts) == 1 for option in options)
    words = {option.opts[0].lstrip("-").replace("-", "_") for option in options} - OF_TERMINAL
    fields = fields_of(ENDPOINTS[name])
    assert {word for word in words if not is_one({**OF_KAFKAS_TOOLS, **VERBS}.get(word, word), fields)} == set()


def test_jobs_call_an_option_as_commands_do() -> None:
    """One that sets the same parameter, or several of it."""
    pytest.importorskip("pyspark")
    context = click.Context(main)
    pipeline = main.get_command(context, "pipeline")
    assert isinstance(pipeline, click.Group)
    commands = [main.get_command(context, name) for name in COMMANDS]
    jobs = [pipeline.get_command(context, name) for name in pipeline.list_commands(context)]
    of_commands, of_jobs = (
        {(each.name, each.opts[0].removesuffix("s")) for one in several if one for each in one.params if "-" in each.opts[0]}
        for several in (commands, jobs)
    )
    names = {name for name, _ in of_commands}
    assert {(name, option) for name, option in of_jobs if name in names} <= of_commands
