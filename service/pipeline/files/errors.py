"""Why records cannot be read."""

from typing import Self

from service.core.errors import AllocatorError


class WrongTable(AllocatorError):
    """A table that cannot be read, lacks a column, or has values of another type. str() begins with its name."""

    @classmethod
    def without_records(cls, name: str) -> Self:
        """The error for a table, or a source, without records."""
        return cls(f"{name}: There are no records.")
