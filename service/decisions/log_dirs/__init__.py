"""Which replica goes to which log directory of its broker."""
