"""Groups of Kafka Connect."""
