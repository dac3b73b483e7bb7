"""The job ``mismatch``."""
