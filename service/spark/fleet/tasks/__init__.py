"""What executors run for the job ``fleet``: Arrow batches in, Arrow batches out. Imports no Spark."""
