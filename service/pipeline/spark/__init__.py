"""The pipeline: the core on Spark, for more data than a request holds.

Each job has a module or a folder of its name, with its driver side and its report; ``jobs.py`` has the options of all,
``runner.py`` runs them; ``cluster`` and ``io`` are shared. Executors run only ``service.pipeline.analyses`` and modules in
``tasks``: Arrow batches in, Arrow batches out, without PySpark.
"""
