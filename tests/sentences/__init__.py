"""Sentence templates, and the inputs of which they are true."""
