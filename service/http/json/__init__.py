"""JSON as bytes: how it is checked, read in bulk and written, without Flask."""
