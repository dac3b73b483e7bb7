"""The assignors of the consumer group protocol (KIP-848), which the group coordinator runs."""
