"""Typed keys and the bytes that clients make of them."""
