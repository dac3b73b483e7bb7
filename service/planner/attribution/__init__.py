"""Which partitioner wrote a topic, from keys and the partitions they are on."""
