"""The job ``skew``."""
