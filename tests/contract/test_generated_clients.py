"""Clients that generators make of ``openapi.yaml``, in Python and in Java, ask a real server every operation.

Each sends the contract's examples through its own classes. Its answers are compared with the JSON that the server sends: a field
that the contract does not name is missing in them, and a number that does not fit its declared type is an error.
"""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import requests

from tests.contract import CONTRACT, TEXT
from tests.contract.test_examples import example_of
from tests.support.golden import PROJECT
from tests.support.jvm import SHORT_LIVED, fetch, made_once, names
from tests.support.parity import PROGRAMS, class_path
from tests.support.programs import PATH, program

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

GENERATOR = "org.openapitools:openapi-generator-cli:7.17.0"
OPTIONS = "containerDefaultToNull=true,library=native,openApiNullable=false,useJakartaEe=true"
"""The first is what README.md tells users to set; with the others the client needs only the Jackson that PySpark has."""
ONLY_CODE = "apis,models,supportingFiles,apiTests=false,modelTests=false,apiDocs=false,modelDocs=false"
HARMLESS = (
    "OpenAPI 3.1 support is still in beta",
    "get the schema name: null",
    "Response examples can",
    "Ignoring complex example",
)
"""What openapi-generator warns of in any contract such as this one; it leaves nothing out for it."""

JAVA = ("java", "-Xmx1g", *SHORT_LIVED)
ASKING = PROGRAMS / "GeneratedClient.java"

OPERATIONS: dict[str, tuple[str, str, dict[str, Any]]] = {
    operation["operationId"]: (path, verb, operation)
    for path, verbs in CONTRACT["paths"].items()
    for verb, operation in verbs.items()
    if verb in ("get", "post")
}


def query_of(operation: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the operation in their order, with the examples of those that have one; null for the others."""
    return {parameter["name"]: parameter["schema"].get("example") for parameter in operation.get("parameters", ())}


def without_nulls(value: Any) -> Any:
    """Generated clients do not tell a field that is null from an absent one."""
    if isinstance(value, dict):
        return {name: without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def answers(server) -> dict[str, Any]:
    """The server's own answers, by operation."""
    got = {}
    for name, (path, verb, operation) in OPERATIONS.items():
        body = {"json": example_of(operation)} if verb == "post" else {}
        response = requests.request(verb, server.url + path, params=query_of(operation), timeout=120, **body)
        assert response.status_code == 200, (name, response.text)
        got[name] = without_nulls(response.json())
    return got


@pytest.fixture(scope="module")
def python_client(tmp_path_factory) -> str:
    """The name of the package that openapi-python-client makes; it can be imported."""
    folder = tmp_path_factory.mktemp("python_client")
    command = [program("openapi-python-client"), "generate", "--path", PROJECT / "openapi.yaml", "--meta", "none"]
    made = subprocess.run(
        [*command, "--output-path", folder / "generated_client", "--fail-on-warning"],
        check=False,
        capture_output=True,
        text=True,
        env={"PATH": PATH},
    )
    assert (made.returncode, made.stderr) == (0, ""), made.stdout
    assert "warning" not in made.stdout.lower(), made.stdout
    sys.path.insert(0, str(folder))
    yield "generated_client"
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.partition(".")[0] == "generated_client"]:
        del sys.modules[name]


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_python_client_asks_the_operation(server, answers, python_client, name):
    _, verb, operation = OPERATIONS[name]
    client = importlib.import_module(python_client).Client(base_url=server.url)
    folder, file = operation["tags"][0].replace("-", "_"), re.sub("(?<!^)(?=[A-Z])", "_", name).lower()
    module = importlib.import_module(f"{python_client}.api.{folder}.{file}")
    arguments = {field: value for field, value in query_of(operation).items() if value is not None}
    if verb == "post":
        schema = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        body = getattr(importlib.import_module(f"{python_client}.models"), schema).from_dict(example_of(operation))
        assert body.to_dict() == example_of(operation)
        arguments["body"] = body
    with client:
        assert without_nulls(module.sync(client=client, **arguments).to_dict()) == answers[name]


def make_java_client(folder: Path) -> None:
    """Generate the client, and compile it with the program that asks through it."""
    (generator,) = fetch(GENERATOR)
    generate = [*JAVA, "-jar", generator, "generate", "-i", PROJECT / "openapi.yaml", "-g", "java", "-o", folder / "made"]
    options = ["--additional-properties", OPTIONS, "--global-property", ONLY_CODE]
    made = subprocess.run([*generate, *options], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    warnings = [line for line in made.stdout.splitlines() if re.match(r"\[\w+\] (WARN|ERROR)", line)]
    assert not [line for line in warnings if not any(text in line for text in HARMLESS)]
    sources = [*(folder / "made/src/main").rglob("*.java"), ASKING]
    flags = ["-nowarn", "-proc:none", *(f"-J{flag}" for flag in SHORT_LIVED)]
    subprocess.run(["javac", *flags, "-d", folder / "classes", "-cp", class_path(), *sources], check=True, capture_output=True)


@pytest.fixture(scope="module")
def java_answers(server) -> dict[str, Any]:
    """What the client of openapi-generator has read, by operation; it is made once for each contract."""
    folder = made_once(
        make_java_client, "java-client", TEXT, GENERATOR, OPTIONS, ONLY_CODE, *HARMLESS, ASKING.read_text(), *names(class_path())
    )
    calls = []
    for name, (_, verb, operation) in OPERATIONS.items():
        arguments = [example_of(operation)] if verb == "post" else []
        api = "".join(map(str.title, operation["tags"][0].split("-"))) + "Api"
        calls.append({"api": api, "operation": name, "arguments": [*arguments, *query_of(operation).values()]})
    asked = subprocess.run(
        [*JAVA, "-cp", f"{folder / 'classes'}:{class_path()}", "GeneratedClient", server.url],
        check=False,
        input="".join(f"{json.dumps(call)}\n" for call in calls),
        capture_output=True,
        text=True,
    )
    assert asked.returncode == 0, asked.stderr
    return dict(zip(OPERATIONS, map(json.loads, asked.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_java_client_asks_the_operation(answers, java_answers, name):
    assert without_nulls(java_answers[name]) == answers[name]
