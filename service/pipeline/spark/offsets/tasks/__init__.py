"""What executors run for the job ``offsets``: Arrow batches in, Arrow batches out. Imports no Spark."""
