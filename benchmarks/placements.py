"""Replica → broker."""
