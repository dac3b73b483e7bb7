"""The Java that Spark's driver runs in, and what makes it start sooner.

A JVM that starts Spark loads thousands of classes and compiles methods that it calls for a second. So the classes come from
an archive (class data sharing), which the first JVM leaves behind at its end, and the second compiler begins later. Together they
halve the CPU time that the JVM takes until the first task has run (docs/pipeline.md).
"""

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pyspark

from service.pipeline.spark.errors import NoSpark

OLDEST: Final = 17
"""The oldest Java that Spark 4 runs on."""

NEEDED: Final = f"Spark needs Java {OLDEST} or later"

PROBE: Final = ("--add-modules", "jdk.incubator.vector", "-version")

LATER: Final = ("-XX:Tier4InvocationThreshold=50000", "-XX:Tier4CompileThreshold=150000")
"""Calls, and calls and loops, after which the second compiler takes a method: ten times as many as by default. Long loops are
counted separately, so work on many records is compiled as early as before."""

LIGHT: Final = (
    "-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m", "-XX:+UseSerialGC", "-XX:-DontCompileHugeMethods",
)  # fmt: skip
"""The first compiler alone, without the counters that the second would need: half of the CPU time of a start. Its code gets the
space that both would have: of 48 MB it would throw code away, and compile it again. It compiles also what Spark writes for a
query of many aggregates, methods too long to be compiled by default. The collector of one thread takes a third of the CPU time of
the default one for a small heap."""

SILENT: Final = "-Xlog:cds*=off"
"""The JVM would report the classes that it cannot archive."""


def java_version() -> str:
    """What ``java -version`` prints.

    Raises NoSpark without a Java that Spark 4 runs on: 17 or later, with the module jdk.incubator.vector.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    where = f"JAVA_HOME is {home}" if home else "no java on the PATH, and JAVA_HOME is not set"
    if java is None:
        raise NoSpark(f"{NEEDED}: {where}. On Debian, run apt install openjdk-17-jre-headless")
    probe = _run(java, *PROBE)
    release = re.search(r'version "(\d+)', probe.stdout)
    if probe.returncode or (release and int(release[1]) < OLDEST):
        version = next((line for line in _run(java, "-version").stdout.splitlines() if line.strip()), "no Java")
        remedy = "Set JAVA_HOME to another Java."
        raise NoSpark(f"{NEEDED}, with the module jdk.incubator.vector; {java} is {version.rstrip('.')}. {remedy}")
    return probe.stdout


def _run(java: str, *options: str) -> subprocess.CompletedProcess[str]:
    """What it prints. Raises NoSpark if it is no program."""
    try:
        return subprocess.run(  # noqa: S603 - the user's own Java
            [java, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False
        )
    except OSError as error:
        raise NoSpark(f"{NEEDED}; {java} does not start: {error.strerror}.") from None


def options(version: str, *, light: bool = False) -> str:
    """The JVM's options: use the archive of this Java and these jars, or write it.

    version : what java_version gave
    light : the JVM starts tasks and passes on their results, but computes nothing that many records depend on
    """
    archive = _archive(version)
    compilers = LIGHT if light else LATER
    if archive is None:
        return " ".join(compilers)
    # A JVM that finds the archive incomplete or made for others does without it.
    return " ".join((f"-XX:{'SharedArchiveFile' if archive.exists() else 'ArchiveClassesAtExit'}={archive}", SILENT, *compilers))


def _archive(version: str) -> Path | None:
    """The file of the archive, 150 MB; None where no file can be."""
    # pathlib's way raises where there is no home.
    folder = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "partition-allocator")  # noqa: PTH111
    spark = os.environ.get("SPARK_HOME") or Path(pyspark.__file__).resolve().parent
    # The JVM rejects, silently, an archive of jars with other paths, sizes or times: those of the same Spark installed again.
    jars = [(str(jar), (of := jar.stat()).st_size, of.st_mtime_ns) for jar in sorted(Path(spark, "jars").glob("*.jar"))]
    name = f"spark-{hashlib.sha256(repr((version, jars)).encode()).hexdigest()[:16]}.jsa"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    usable = os.access(folder, os.W_OK) and folder.stat().st_uid == os.getuid() and not any(c.isspace() for c in str(folder))
    return folder / name if usable else None
