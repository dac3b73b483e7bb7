"""``POST /v1/log-dir-plans``."""
