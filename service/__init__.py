"""partition-allocator: Kafka's partition allocation over HTTP, on the command line and on Spark."""

__version__ = "0.1.0"
