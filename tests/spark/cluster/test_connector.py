"""Packages from Maven, such as Spark's Kafka connector, on a machine with a local Maven repository."""

import os
import subprocess
import sys
import textwrap

import pytest

from tests.support.jvm import SHORT_LIVED, SHORT_LIVED_SPARK

PROGRAM = textwrap.dedent("""
    import sys
    from service.spark.cluster.session import spark_session

    with spark_session("test", master="local[1]", settings={"spark.jars.ivy": sys.argv[1]}) as spark:
        spark.sql("ADD JAR ivy://org.slf4j:slf4j-api:2.0.17")
        print(*(row[0] for row in spark.sql("LIST JARS").collect()))
""")

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>org.slf4j</groupId><artifactId>slf4j-api</artifactId><version>2.0.17</version></project>"""


@pytest.mark.slow
def test_a_local_maven_repository_may_lack_a_jar(tmp_path):
    """Any Maven build leaves the metadata of packages whose jars it did not need. The Kafka connector needs this one."""
    package = tmp_path / ".m2/repository/org/slf4j/slf4j-api/2.0.17"
    package.mkdir(parents=True)
    (package / "slf4j-api-2.0.17.pom").write_text(POM)
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "ivy")],
        env={**os.environ, **SHORT_LIVED_SPARK, "JAVA_TOOL_OPTIONS": " ".join((*SHORT_LIVED, f"-Duser.home={tmp_path}"))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert "slf4j-api-2.0.17.jar" in run.stdout
