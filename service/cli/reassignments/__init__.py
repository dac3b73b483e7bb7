"""The commands ``reassign``, ``lint`` and ``audit``."""
