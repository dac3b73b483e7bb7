"""What executors run for the job ``skew``: Arrow batches in, Arrow batches out. Imports no Spark."""

from typing import Final

MAX_KEYS: Final = 2**16
"""Most distinct keys that are counted exactly; beyond, they are estimated from a sample of that size."""
