"""Rows of questions about groups."""
