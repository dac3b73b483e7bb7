"""A reassignment of all topics of a table: the job ``reassign``, and ``reassign --into``."""
