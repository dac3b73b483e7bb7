"""Log directories: on which disk of its broker each replica is, and on which it should be."""
