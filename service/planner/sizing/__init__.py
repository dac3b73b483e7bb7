"""How many partitions a topic should have."""
