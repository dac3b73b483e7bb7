"""The Java that Spark's driver runs in: what makes it start sooner, and in a sentence why Spark failed.

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
from typing import Any, Final

import pyspark
from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkException

from service.pipeline.spark.errors import JobFailed, NoSpark

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


# ---- why Spark failed --------------------------------------------------------------------------------------------------

NO_FILE: Final = "No file matches. In a path, * ? [ ] { } make a pattern; put \\ before one that is part of a name."


class JvmEnded(JobFailed):
    """Spark's JVM has ended, or nothing can be asked of it any more."""


def failure(error: Exception) -> JobFailed:
    """The innermost cause in the words of the executor or the JVM, and the file that was being read."""
    if isinstance(error, (Py4JNetworkError, ConnectionError)):
        return JvmEnded("Spark's JVM has ended.")
    text = _messages(error)
    if other := re.search(r"CSV header.*?CSV file: (?:file:/*(?=/))?(.+?)$", text, re.DOTALL | re.MULTILINE):
        return JobFailed(
            f"{other[1]} does not have the first line of the first file: write them with the same columns in one order."
        )
    causes = re.findall(r"^(?:Caused by: |(?=service\.[\w.]+: |(?:\w+[.$])*\w*(?:Error|Exception): ))(.+)$", text, re.MULTILINE)
    first = str(error).splitlines()[0]
    own = without_codes(first) if isinstance(error, PySparkException) else first
    reason = re.sub(r"^(service\.[\w.]+|java\.lang\.RuntimeException): ", "", causes[-1]) if causes else own
    if "PatternSyntaxException: " in reason:
        reason = NO_FILE
    file = re.search(r"Encountered error while reading file (?:file:/*(?=/))?(.+?)\.\s", text)
    return JobFailed(f"{file[1]}: {reason}" if file and file[1] not in reason else reason)


def cause_in(log: Path) -> str:
    """What the JVM printed before it ended, as a further sentence, with the remedy if it lacked memory."""
    printed = log.read_text(errors="replace") if log.exists() else ""
    causes = re.findall(r"^.*?(java\.lang\.\w+Error(?:: .+)?|Killed|# A fatal error .+)$", printed, re.MULTILINE)
    remedy = " More memory: --spark-option spark.driver.memory=4g"
    return f" {causes[-1]}.{remedy if _MEMORY.search(causes[-1]) else ''}" if causes else f" It may have been killed.{remedy}"


def start_failure(error: Exception, printed: str) -> str:
    """Why Spark does not start, and the remedy if it lacks memory.

    printed : what the JVM has printed; "" if the user has seen it
    """
    last = re.findall(r'^Exception in thread "main" (.+)$', printed, re.MULTILINE)
    # A JVM that does not come as far as Spark prints a line or two. Of one that does, PySpark has the error.
    of_jvm = [line.strip("# ") for line in printed.splitlines() if not _NOT_A_REASON.match(line)]
    reason = last[-1] if last else ": ".join(of_jvm[:2]) if of_jvm and "gateway" in str(error) else str(failure(error))
    reason = without_codes(re.sub(r"^(?:[a-z]\w*\.)+[\w$]+: ", "", reason)).rstrip(".")
    remedy = " Set the memory of the driver: --spark-option spark.driver.memory=1g" if _MEMORY.search(reason) else ""
    return f"{reason}.{remedy}"


_NOT_A_REASON: Final = re.compile(
    r"\W*$|WARNING|OpenJDK|Picked up|Error occurred during initialization|Error: (?:Could not create|A fatal)"
)
_MEMORY: Final = re.compile(r"heap|memory", re.IGNORECASE)
"""What Spark and the JVM say of too little memory, or of more than the machine has."""


def _messages(error: Any) -> str:
    """The message of an error and, from the JVM, those of its causes, on lines of their own."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    messages = []
    while java is not None:
        messages.append(str(java.toString()))
        java = java.getCause()
    return "\n".join(messages) or str(error)


def without_codes(text: str) -> str:
    """A line of Spark's own errors without error class and plan."""
    return re.sub(r"\s*SQLSTATE: \w+.*$", "", re.sub(r"^\[[A-Z_.]+\]\s*", "", text))
