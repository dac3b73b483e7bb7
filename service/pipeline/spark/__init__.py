"""The pipeline: the core on Spark, for more data than a request holds.

Each job has a folder (``skew``, ``load``, ``fleet``, ``offsets``, ``mismatch``), with its command line and its driver side in
``job.py`` and its report in ``report.py``; ``cluster`` and ``io`` are shared. Executors run only modules in folders named
``tasks``: Arrow batches in, Arrow batches out, without PySpark.
"""
