"""The three questions on real data: the flights that left New York in 2013, as records of a Kafka topic (``make demo``)."""
