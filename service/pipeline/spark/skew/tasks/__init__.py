"""What executors run for the job ``skew``: Arrow batches in, Arrow batches out. Imports no Spark."""
