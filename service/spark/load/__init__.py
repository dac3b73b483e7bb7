"""The job ``load``."""
