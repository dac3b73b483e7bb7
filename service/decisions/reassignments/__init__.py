"""Rows of questions about reassignments."""
