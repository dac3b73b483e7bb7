"""The Java projects build as their users build them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.jvm import SHORT_LIVED

PROJECT = Path(__file__).parents[2]


BOTH = """
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tests</groupId><artifactId>both</artifactId><version>1</version><packaging>pom</packaging>
  <modules><module>clients</module><module>brokers</module></modules>
</project>
"""
"""One Maven builds the two, each by its own file."""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with the folders ``clients`` and ``brokers``."""
    root = tmp_path_factory.mktemp("maven")
    (root / "pom.xml").write_text(BOTH)
    for folder in ("clients", "brokers"):
        shutil.copytree(PROJECT / folder / "java" / "src", root / folder / "src")
        shutil.copy(PROJECT / folder / "java" / "pom.xml", root / folder)
    environment = os.environ | {"MAVEN_OPTS": " ".join(SHORT_LIVED)}
    done = subprocess.run(["mvn", "-q", "-B", "package"], cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return root


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("mvn") is None, reason="it takes Maven, which tests do not install")
@pytest.mark.parametrize(
    ("folder", "jar", "class_name"),
    [
        ("clients", "remote-assignor-0.1.0.jar", "partitionallocator/clients/RemoteAssignor.class"),
        ("brokers", "balanced-assignor-0.1.0.jar", "partitionallocator/broker/BalancedAssignor.class"),
    ],
)
def test_maven_builds_a_jar_that_has_the_assignor_and_nothing_of_kafka(built, folder, jar, class_name):
    with ZipFile(built / folder / "target" / jar) as archive:
        names = archive.namelist()
    assert class_name in names
    assert all(name.startswith(("partitionallocator/", "META-INF/")) for name in names)
