"""Commands that read a live cluster, or a snapshot of one."""
