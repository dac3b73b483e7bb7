"""The table of jobs. ``options.py`` in a job's folder has its command line, ``job.py`` runs it on Spark."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from service.pipeline.spark.job import Job

JOBS: Final = ("skew", "load", "fleet", "offsets", "history", "mismatch", "reassign")
"""Each is the name of a job, and of its folder."""


def load(name: str) -> Job:
    """The job of this name, imported when it is needed, without Spark and kernels."""
    return cast("Job", import_module(f"service.pipeline.spark.{name}.options").JOB)
