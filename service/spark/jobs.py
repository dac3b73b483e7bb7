"""The table of jobs. ``job.py`` in a job's folder has its command line and runs it on Spark."""

from service.spark.fleet.job import JOB as FLEET
from service.spark.job import Job
from service.spark.load.job import JOB as LOAD
from service.spark.mismatch.job import JOB as MISMATCH
from service.spark.offsets.job import JOB as OFFSETS
from service.spark.reassign.job import JOB as REASSIGN
from service.spark.skew.job import JOB as SKEW

JOBS: tuple[Job, ...] = (SKEW, LOAD, FLEET, OFFSETS, MISMATCH, REASSIGN)
