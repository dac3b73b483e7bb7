"""kafka-python, for brokers and producers that are not trusted: each length and size is checked."""
