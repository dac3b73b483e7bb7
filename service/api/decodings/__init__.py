"""``/v1/decodings``."""
