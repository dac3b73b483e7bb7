"""The commands ``reassign``, ``disks``, ``lint`` and ``audit``."""
