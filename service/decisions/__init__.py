"""Arrow columns to the core's arrays and back. Requests and Spark executors share it."""
