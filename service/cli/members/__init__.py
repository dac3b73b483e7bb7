"""The command ``members``."""
