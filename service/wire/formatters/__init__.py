"""The lines that Kafka's own formatters print for records of coordinators."""
