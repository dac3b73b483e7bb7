"""The job ``fleet``."""
