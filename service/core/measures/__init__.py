"""How good an answer is: skew, load of brokers, traffic between zones, and how good any answer could be."""
