"""Which partitioners wrote a topic: the job ``mismatch``, and ``fingerprint --into``."""
