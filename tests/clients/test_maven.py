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


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("mvn") is None, reason="it takes Maven, which tests do not install")
@pytest.mark.parametrize(
    ("folder", "jar", "class_name"),
    [
        ("clients/java", "remote-assignor-0.1.0.jar", "partitionallocator/clients/RemoteAssignor.class"),
        ("brokers/java", "balanced-assignor-0.1.0.jar", "partitionallocator/broker/BalancedAssignor.class"),
    ],
)
def test_maven_builds_a_jar_that_has_the_assignor_and_nothing_of_kafka(folder, jar, class_name, tmp_path):
    shutil.copytree(PROJECT / folder / "src", tmp_path / "src")
    shutil.copy(PROJECT / folder / "pom.xml", tmp_path)
    environment = os.environ | {"MAVEN_OPTS": " ".join(SHORT_LIVED)}
    built = subprocess.run(
        ["mvn", "-q", "-B", "package"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stdout + built.stderr
    with ZipFile(tmp_path / "target" / jar) as archive:
        names = archive.namelist()
    assert class_name in names
    assert all(name.startswith(("partitionallocator/", "META-INF/")) for name in names)
