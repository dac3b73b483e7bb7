"""What Kafka does not answer: plans that move the least, proven assignments, what a group's events cause, how many partitions."""
