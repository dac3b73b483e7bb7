"""The table of jobs. ``job.py`` in a job's folder has its command line and runs it on Spark."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from service.spark.job import Job

JOBS: Final = ("skew", "load", "fleet", "offsets", "mismatch", "reassign")
"""Each is the name of a job, and of its folder."""


def load(name: str) -> Job:
    """The job of this name, imported when it is needed."""
    return cast("Job", import_module(f"service.spark.{name}.job").JOB)
