"""What can go wrong between this process and a cluster.

::

    ClusterError
    ├── WrongProperties      a properties file, or a store that it names, cannot be used
    └── Unreachable          no broker answers, or none accepts the credentials
"""

from typing import Any

# What a cluster does not tell, and why.


class NotKnown:
    """Collects the reasons; the same reason for the same field of several topics or groups is one entry."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, str], list[str] | None] = {}

    def add(self, field: str, reason: str, name: str | None = None) -> None:
        """Field : as "topics[].log_end_offsets"; name : of the topic or group, or the broker's id; None for all of them"""
        names = self._names.setdefault((field, reason), [])
        if name is None:
            self._names[field, reason] = None
        elif names is not None and (not names or names[-1] != name):
            names.append(name)

    def documents(self) -> list[dict[str, Any]]:
        """``[{"field", "names", "reason"}]``; no ``names`` means all."""
        return [
            {"field": field, **({} if names is None else {"names": sorted(set(names))}), "reason": reason}
            for (field, reason), names in self._names.items()
        ]


class ClusterError(Exception):
    """The base of these errors; its text is a sentence for the user."""


class WrongProperties(ClusterError):
    """A property cannot be used. The text names it."""


class Unreachable(ClusterError):
    """The cluster cannot be reached."""
