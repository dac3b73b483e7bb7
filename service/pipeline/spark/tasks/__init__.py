"""What executors of several jobs run: Arrow batches in, Arrow batches out. Imports no Spark."""
