"""The three decisions on real input: every flight that left New York in 2013, as records of a Kafka topic (``make demo``)."""
