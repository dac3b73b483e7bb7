"""How evenly partitioners and partition counts distribute records: the job ``skew``, and ``plan --into``."""

from typing import Final

MAX_KEYS: Final = 2**16
"""Most distinct keys that are counted exactly; beyond, they are estimated from a sample of that size."""
