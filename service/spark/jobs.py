"""The jobs by name. A job is a module here: what it asks of the command line, and what it does with the answer on Spark."""

from __future__ import annotations

from service.spark.jobs import fleet, load, mismatch, offsets, skew
from service.spark.jobs.model import Job, Outcome, Pipeline

__all__ = ["JOBS", "Job", "Outcome", "Pipeline"]

JOBS: tuple[Job, ...] = (skew.JOB, load.JOB, fleet.JOB, offsets.JOB, mismatch.JOB)
"""In the order in which they are listed."""
