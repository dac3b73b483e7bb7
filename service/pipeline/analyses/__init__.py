"""What the jobs of the pipeline compute, without Spark: batches in; summary, tables and report out.

Spark's executors run a scan on a part of the data each, the commands with ``--into`` on a local file; what follows is the same.
"""
