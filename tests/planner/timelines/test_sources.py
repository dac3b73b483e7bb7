"""Each rule of the simulator names the class and method of Kafka that it reproduces; these exist in Kafka's jars."""

from __future__ import annotations

import re
from pathlib import Path
from zipfile import ZipFile

import pytest

from service.planner import timelines
from tests.support.jvm import COMPARED, fetch

FOLDER = Path(timelines.__file__).parent
PARTS = ("kafka-clients", "kafka-group-coordinator")
OWN = {"ConsumerClients", "Events", "Idle", "Ledger", "Members", "Ragged", "World"}
CITED = re.compile(r"\b([A-Z][A-Za-z]+(?:\.[A-Z][A-Za-z]+)?)\.([a-z]\w+)((?:(?:,\s+|\s+and\s+)[a-z]+[A-Z]\w+\b(?!\.))*)")


@pytest.fixture(scope="module")
def classes() -> dict[str, bytes]:
    """The class files by name (``Outer.Inner``). A class file has the names of its methods and fields as text."""
    found: dict[str, bytes] = {}
    for jar in fetch(*(f"org.apache.kafka:{part}:{release}" for part in PARTS for release in COMPARED)):
        with ZipFile(jar) as archive:
            for path in archive.namelist():
                if path.endswith(".class") and ("/coordinator/group/" in path or "/clients/" in path):
                    name = path.removesuffix(".class").split("/")[-1].replace("$", ".")
                    found[name] = found.get(name, b"") + archive.read(path)
    return found


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.py")), ids=lambda path: str(path.relative_to(FOLDER)))
def test_what_is_cited_exists(classes: dict[str, bytes], path: Path) -> None:
    missing = []
    for name, method, others in CITED.findall(path.read_text(encoding="utf-8")):
        if name not in OWN:
            methods = [method, *re.findall(r"\b[a-z]+[A-Z]\w+", others)]
            missing += [f"{name}.{one}" for one in methods if one.encode() not in classes.get(name, b"")]
    assert missing == []
