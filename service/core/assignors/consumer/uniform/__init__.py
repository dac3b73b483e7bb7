"""The uniform assignor of the consumer protocol."""
