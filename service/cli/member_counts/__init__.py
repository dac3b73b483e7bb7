"""The command ``member-counts``."""
