"""The real Kafka classes, on the JVM that PySpark brings.

PySpark's own Ivy fetches the jars (into ``~/.ivy2*``, once), so that neither Maven nor a host's name is needed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from pyspark.find_spark_home import _find_spark_home

from service.core.kafka_versions import LATEST

KAFKA = "4.3.1"
"""The newest release of which all jars are published: brokers, tools and Streams too."""

COMPARED = (LATEST, KAFKA)
"""The releases whose clients, coordinators and controllers every parity test asks."""


FORMER_CLIENTS = ("2.4.1", "2.8.2", "3.4.1", "3.9.1")
"""The older releases whose classic assignors the parity tests ask."""


def controller_jars(release: str) -> tuple[str, ...]:
    """The artifacts that have the controller's placer."""
    return tuple(f"org.apache.kafka:kafka-{part}:{release}" for part in ("clients", "metadata", "server-common"))


JARS = (*controller_jars(KAFKA), f"org.apache.kafka:kafka-streams:{KAFKA}")
ADMIN_UTILS_JARS = ("org.apache.kafka:kafka-server-common:4.0.2", f"org.apache.kafka:kafka-clients:{KAFKA}")
"""AdminUtils is in no release after 4.0."""


SHORT_LIVED = (
    "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
    "-XX:ReservedCodeCacheSize=240m",  # with that level 48m, where Spark's code is thrown away and compiled again
    "-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote",
)  # fmt: skip
"""Options of a JVM that has little to do: its own compiler would take more time than it saves, and its classes are known."""

SHORT_LIVED_SPARK = {"JAVA_TOOL_OPTIONS": " ".join(SHORT_LIVED), "XDG_CACHE_HOME": os.devnull}
"""The environment of a command that starts Spark: these options for each of its JVMs, and no archive of classes at their end."""

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Settings of a Spark that has few rows: to compile its own code for them would take longer than to interpret it."""


def py4j_jar() -> str:
    """Where py4j's Java side lies."""
    return str(next(Path(_find_spark_home(), "jars").glob("py4j-*.jar")))


def _gateway(classpath: str) -> JavaGateway:
    port = launch_gateway(classpath=classpath, jarpath=py4j_jar(), die_on_exit=True, javaopts=["-Xmx1g", *SHORT_LIVED])
    return JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))


@cache
def spark_jvm() -> Any:
    """A JVM with PySpark's own jars on its class path."""
    return _gateway(f"{_find_spark_home()}/jars/*").jvm


@cache
def fetch(*coordinates: str) -> tuple[str, ...]:
    """Local paths of Maven artifacts (``group:artifact:version``), without what they depend on."""
    java = spark_jvm()
    ivy, log = java.org.apache.spark.util.MavenUtils, java.java.io.PrintStream(java.java.io.OutputStream.nullOutputStream())
    nothing = java.scala.Option.apply(None)
    nobody = java.scala.jdk.javaapi.CollectionConverters.asScala(java.java.util.ArrayList()).toSeq()
    settings = ivy.buildIvySettings(nothing, nothing, True, log)
    with Path(tempfile.gettempdir(), "partition-allocator-ivy.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # Ivy does not expect another process at its cache; tests run side by side
        resolved = ivy.resolveMavenCoordinates(",".join(coordinates), settings, nothing, False, nobody, False, log)
    return tuple(java.scala.jdk.javaapi.CollectionConverters.asJava(resolved))


@cache
def kafka_jvm(*coordinates: str) -> Any:
    """A JVM with these artifacts on its class path (and PySpark's, for logging, JSON and compression)."""
    jars = fetch(*(coordinates or JARS))
    return _gateway(":".join((*jars, f"{_find_spark_home()}/jars/*"))).jvm


PROJECTS = {
    "brokers/java": tuple(f"org.apache.kafka:kafka-{part}:{KAFKA}" for part in ("clients", "group-coordinator-api")),
    "clients/java": (f"org.apache.kafka:kafka-clients:{KAFKA}", "org.slf4j:slf4j-api:1.7.36"),
}
"""This project's own Java code, and what it is compiled with."""


@cache
def compiled(project: str) -> str:
    """The folder of the classes of one of PROJECTS, compiled by the JDK alone. All processes share it while the sources stay."""
    root = Path(__file__).parents[2] / project
    sources = sorted((root / "src" / "main" / "java").rglob("*.java"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    classes = Path(tempfile.gettempdir(), f"partition-allocator-classes-{digest}")
    with classes.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not classes.exists():
            unfinished = tempfile.mkdtemp()
            class_path = ":".join(fetch(*PROJECTS[project]))
            subprocess.run(["javac", "-Xlint:all", "-Werror", "-d", unfinished, "-cp", class_path, *sources], check=True)
            Path(unfinished).rename(classes)
    return str(classes)
