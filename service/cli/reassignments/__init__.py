"""The commands ``reassign``, ``log-dirs``, ``lint`` and ``audit``."""
