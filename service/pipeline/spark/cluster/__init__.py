"""The Spark session, and how executors get this code."""
