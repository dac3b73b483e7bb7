"""What readers of JSON need of its text."""

from typing import Any, NoReturn, Protocol

from service.core.documents import Json
from service.descriptions.json_lines import Path


class Source(Protocol):
    """Checks the values of a document; all raise UnreadableDescription, with the line."""

    def refuse(self, detail: str, path: Path) -> NoReturn:
        """Raise it for the value at this path."""

    def check(self, value: Any, kind: type, path: Path) -> Any:
        """The value, which must be of this kind."""

    def member(self, row: Json, name: str, kind: type, path: Path) -> Any:
        """A required member of an object."""

    def rows(self, document: Json, name: str, path: Path) -> list[Json]:
        """A list of objects, empty if it is absent."""

    def broker_ids(self, row: Json, name: str, path: Path) -> list[int]:
        """A required list of integers."""
