"""Spark's daemon on this machine, which forks the Python workers: what each of them imports is imported once, before.

Spark runs this module in place of ``pyspark.daemon``. A fork loses threads; of what is imported here, only the allocator of
Arrow, jemalloc, has one, and starts it again.
"""

import gc

import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import service.pipeline.analyses.skew.scan
import service.pipeline.spark.tasks.parquet_files  # noqa: F401

if __name__ == "__main__":
    gc.freeze()  # a worker looks for garbage after each of its tasks: 40 ms, if it also looks through all that is imported here
    manager()
