"""``/v1/keyless-distributions``."""
