"""What executors run for the job ``mismatch``: Arrow batches in, Arrow batches out. Imports no Spark."""
