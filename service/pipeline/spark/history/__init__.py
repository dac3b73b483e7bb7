"""The job ``history``."""
