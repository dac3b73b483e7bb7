"""Typed keys, the bytes that clients make of them, and serialized keys as JSON values."""
