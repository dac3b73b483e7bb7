"""The job ``offsets``."""
