"""The pipeline: the core over more data than a request holds, on Spark.

Modules come in two kinds. Those that executors run take Arrow batches and give Arrow batches, and know no Spark
(``columns.py`` and one per job); ``session.py``, ``sources.py``, ``sinks.py``, ``progress.py`` and the thin modules of ``jobs/``
run on the driver, and alone import PySpark.
"""
