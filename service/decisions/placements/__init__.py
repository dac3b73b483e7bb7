"""Rows of questions about placements."""
