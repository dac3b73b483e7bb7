"""Why records cannot be read."""

from service.core.errors import AllocatorError


class WrongTable(AllocatorError):
    """A table that cannot be read, lacks a column, or has values of another type. str() begins with its name."""
