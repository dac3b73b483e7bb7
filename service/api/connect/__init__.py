"""``/v1/connect-assignments``: what the leader of a Kafka Connect group assigns to its workers."""
