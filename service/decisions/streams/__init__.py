"""Groups of Kafka Streams: tasks → members or clients."""
