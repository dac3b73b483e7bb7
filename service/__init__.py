"""partition-allocator: Kafka's three questions of partition allocation, answered over HTTP."""

__version__ = "0.1.0"
