"""``reassign``: a plan for all topics of a cluster, or of a fleet, from tables."""
