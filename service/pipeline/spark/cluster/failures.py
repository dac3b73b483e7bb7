"""Why Spark failed, in a sentence."""

import re
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkException

from service.pipeline.spark.errors import JobFailed

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
    reason = re.sub(r"^(service\.[\w.]+|java\.lang\.RuntimeException): ", "", causes[-1]) if causes else _message(error)
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
    reason = re.sub(r"^(?:[a-z]\w*\.)+[\w$]+: ", "", reason)
    reason = re.sub(r"\s*SQLSTATE: \w+.*$", "", re.sub(r"^\[[A-Z_.]+\]\s*", "", reason)).rstrip(".")
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


def _message(error: Exception) -> str:
    """The first line, of Spark's own errors without error class and plan."""
    text = str(error).splitlines()[0]
    if isinstance(error, PySparkException):
        return re.sub(r"\s*SQLSTATE: \w+.*$", "", re.sub(r"^\[[A-Z_.]+\]\s*", "", text))
    return text
