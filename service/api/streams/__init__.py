"""``/v1/streams-assignments``: which member of a Kafka Streams group runs which tasks."""
