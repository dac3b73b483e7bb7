"""The real Kafka classes, on the JVM that PySpark brings.

PySpark's own Ivy fetches the jars (into ``~/.ivy2*``, once), so that neither Maven nor a host's name is needed.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import pwd
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from pyspark.find_spark_home import _find_spark_home

from service.core.kafka_versions import LATEST
from service.pipeline.spark.cluster import jvm

if TYPE_CHECKING:
    from collections.abc import Callable

KAFKA = LATEST
"""The release of the brokers, clients and tools that tests start."""

COMPARED = (LATEST, "4.3.1")
"""The releases whose clients, coordinators, controllers, workers of Connect and leaders of Streams every parity test asks."""


FORMER_CLIENTS = ("2.4.1", "2.8.2", "3.4.1", "3.9.1")
"""The older releases whose classic assignors the parity tests ask."""


def controller_jars(release: str) -> tuple[str, ...]:
    """The artifacts that have the controller's placer."""
    return tuple(f"org.apache.kafka:kafka-{part}:{release}" for part in ("clients", "metadata", "server-common"))


def streams_jars(release: str) -> tuple[str, ...]:
    """The artifacts that have the task assignors of the Streams library."""
    return (*controller_jars(release), f"org.apache.kafka:kafka-streams:{release}")


def connect_jars(release: str) -> tuple[str, ...]:
    """What Connect's workers need besides what PySpark brings."""
    return tuple(f"org.apache.kafka:{part}:{release}" for part in ("kafka-clients", "connect-runtime", "connect-api"))


JARS = streams_jars(KAFKA)
ADMIN_UTILS_JARS = ("org.apache.kafka:kafka-server-common:4.0.2", f"org.apache.kafka:kafka-clients:{KAFKA}")
"""AdminUtils is in no release after 4.0."""


def scala_admin_utils_jars(release: str) -> tuple[str, ...]:
    """The artifacts that have AdminUtils in Scala, of a release up to 3.4."""
    parts = ("kafka_2.13", "kafka-clients")
    return (*(f"org.apache.kafka:{part}:{release}" for part in parts), "com.typesafe.scala-logging:scala-logging_2.13:3.9.2")


OF_CONSOLE_CONSUMER = "commons-validator:commons-validator:1.7"
SCALA_FORMATTERS_JARS = {
    **{release: (*scala_admin_utils_jars(release), OF_CONSOLE_CONSUMER) for release in ("2.8.2", "3.4.1")},
    "3.9.1": (
        *(
            f"org.apache.kafka:{part}:3.9.1"
            for part in ("kafka_2.13", "kafka-clients", "kafka-group-coordinator", "kafka-server")
        ),
        "org.apache.kafka:kafka-server-common:3.9.1",
        "com.typesafe.scala-logging:scala-logging_2.13:3.9.2",
        OF_CONSOLE_CONSUMER,
    ),
}
"""By release, what the formatters need that are written in Scala."""

SHORT_LIVED = (
    "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
    "-XX:ReservedCodeCacheSize=240m",  # with that level 48m, where Spark's code is thrown away and compiled again
    "-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote",
)  # fmt: skip
"""Options of a JVM that has little to do: its own compiler would take more time than it saves, and its classes are known."""

NO_LOG = "-Dslf4j.internal.verbosity=ERROR"
"""The option of a JVM that keeps no log, and need not say so."""

INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.ui.explainMode": "simple",
}
"""Settings of a Spark that has few rows: to compile its own code for them would take longer than to interpret it, and nobody
reads how it explains each query."""


LIBRARIES = (
    *("jackson-", "jakarta.", "javax.servlet-", "jcl-over-slf4j-", "lz4-java-", "rocksdbjni-", "scala-library-", "slf4j-api-"),
    *("snappy-java-", "zstd-jni-"),
)
"""How the names of those of PySpark's jars begin that Kafka needs, but for what writes its log."""


@cache
def libraries(*more: str) -> tuple[str, ...]:
    """Those jars, and ``more``, which are named so, too.

    PySpark has 276, and Java looks in each for a class that is nowhere, such as those that py4j asks for: one for each part of a
    package's name. All on a class path would double the CPU time of a JVM that has little to do.
    """
    return tuple(
        str(jar) for jar in sorted(Path(_find_spark_home(), "jars").glob("*.jar")) if jar.name.startswith((*LIBRARIES, *more))
    )


def py4j_jar() -> str:
    """Where py4j's Java side lies."""
    return str(next(Path(_find_spark_home(), "jars").glob("py4j-*.jar")))


def _gateway(classpath: str) -> JavaGateway:
    port = launch_gateway(classpath=classpath, jarpath=py4j_jar(), die_on_exit=True, javaopts=["-Xmx1g", *SHORT_LIVED, NO_LOG])
    return JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))


@cache
def spark_jvm() -> Any:
    """A JVM with PySpark's own jars on its class path."""
    return _gateway(f"{_find_spark_home()}/jars/*").jvm


def _shared(kind: str, *contents: str) -> Path:
    """A file or folder that all processes share while its contents' sources stay."""
    digest = hashlib.sha256("\n".join(contents).encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir(), f"partition-allocator-{kind}-{digest}")


@cache
def fetch(*coordinates: str) -> tuple[str, ...]:
    """Local paths of Maven artifacts (``group:artifact:version``), without what they depend on."""
    home = pwd.getpwuid(os.getuid()).pw_dir  # Java's, whatever $HOME is
    known = _shared("jars", home, *coordinates)
    with Path(tempfile.gettempdir(), "partition-allocator-ivy.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # Ivy does not expect another process at its cache; tests run side by side
        if known.exists() and all(map(os.path.exists, paths := json.loads(known.read_text()))):
            return tuple(paths)
        paths = _resolved(coordinates)
        unfinished = known.with_suffix(".new")
        unfinished.write_text(json.dumps(paths))
        unfinished.rename(known)
    return tuple(paths)


def _resolved(coordinates: tuple[str, ...]) -> list[str]:
    java = spark_jvm()
    ivy, log = java.org.apache.spark.util.MavenUtils, java.java.io.PrintStream(java.java.io.OutputStream.nullOutputStream())
    nothing = java.scala.Option.apply(None)
    nobody = java.scala.jdk.javaapi.CollectionConverters.asScala(java.java.util.ArrayList()).toSeq()
    settings = ivy.buildIvySettings(nothing, nothing, True, log)
    resolved = ivy.resolveMavenCoordinates(",".join(coordinates), settings, nothing, False, nobody, False, log)
    return list(java.scala.jdk.javaapi.CollectionConverters.asJava(resolved))


@cache
def kafka_jvm(*coordinates: str) -> Any:
    """A JVM with these artifacts on its class path (and those of PySpark that they need)."""
    jars = fetch(*(coordinates or JARS))
    return _gateway(":".join((*jars, *libraries()))).jvm


SESSION = """
from pyspark import SparkContext
from service.pipeline.spark.cluster.session import spark_session

with spark_session("test", master="local[1]"):
    gateway = SparkContext._gateway
gateway.shutdown()
gateway.proc.stdin.close()
gateway.proc.wait(60)
"""
"""A session without a job, whose archive of classes is the smallest, until its JVM has ended."""


@cache
def spark_archive() -> Path:
    """The archive of classes that the first session on this machine leaves behind, in ``$XDG_CACHE_HOME/partition-allocator``."""

    def leave(folder: Path) -> None:
        environment = {**os.environ, "JAVA_TOOL_OPTIONS": " ".join(SHORT_LIVED), "XDG_CACHE_HOME": str(folder)}
        subprocess.run([sys.executable, "-c", SESSION], env=environment, check=True)
        assert list(folder.rglob("*.jsa")), "the session leaves an archive"

    spark = _find_spark_home()
    installed = str(Path(spark, "jars").stat().st_mtime_ns)  # for other jars, or of another time, the archive is of no use
    sources = (path.read_text() for path in sorted(Path(jvm.__file__).parent.glob("*.py")))
    folder = made_once(leave, "archive", SESSION, " ".join(SHORT_LIVED), spark, installed, jvm.java_version(), *sources)
    return next(folder.glob("partition-allocator/spark-*.jsa"))


@cache
def with_archive() -> str:
    """The options of a JVM of Spark that takes its classes from there."""
    return f"-XX:SharedArchiveFile={spark_archive()} {jvm.SILENT}"


@cache
def short_lived_spark() -> dict[str, str]:
    """The environment of a command that starts Spark: options for each of its JVMs, and an archive of classes for its own."""
    return {"JAVA_TOOL_OPTIONS": " ".join(SHORT_LIVED), "XDG_CACHE_HOME": str(spark_archive().parents[1])}


PROJECTS = {
    "brokers/java": tuple(f"org.apache.kafka:kafka-{part}:{KAFKA}" for part in ("clients", "group-coordinator-api")),
    "clients/java": (f"org.apache.kafka:kafka-clients:{KAFKA}", "org.slf4j:slf4j-api:1.7.36"),
}
"""This project's own Java code, and what it is compiled with."""


@cache
def compiled(project: str) -> str:
    """The folder of the classes of one of PROJECTS, compiled by the JDK alone."""
    root = Path(__file__).parents[2] / project
    sources = sorted((root / "src" / "main" / "java").rglob("*.java"))
    return classes(sources, ":".join(fetch(*PROJECTS[project])), "-Xlint:all", "-Werror")


def classes(sources: list[Path], class_path: str, *options: str) -> str:
    """The folder of the sources' classes. All processes share it while sources and jars stay."""

    def compile_into(folder: Path) -> None:
        flags = [*options, *(f"-J{flag}" for flag in SHORT_LIVED)]
        subprocess.run(["javac", *flags, "-d", folder, "-cp", class_path, *sources], check=True)

    return str(made_once(compile_into, "classes", *names(class_path), *options, *(source.read_text() for source in sources)))


def names(class_path: str) -> list[str]:
    """Of its jars. Their versions are in them: what is made of jars serves again where the same lie in another folder."""
    return [Path(jar).name for jar in class_path.split(":")]


def made_once(make: Callable[[Path], None], kind: str, *contents: str) -> Path:
    """The folder that ``make`` fills. All processes, and later runs, share it while the contents are the same."""
    made = _shared(kind, *contents)
    with made.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            unfinished = Path(tempfile.mkdtemp())
            make(unfinished)
            unfinished.rename(made)
    return made
