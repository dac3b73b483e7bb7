"""The text of a JSON document, for the line of a fault, and the values that it must have."""

from typing import Any, Final, NoReturn

from service.core.documents import Json
from service.descriptions.json_lines import Path, line_of
from service.descriptions.model import UnreadableDescription

_TYPES: Final = {dict: "an object", list: "a list", int: "an integer", str: "a string"}


class SourceText:
    """The text, and where the JSON begins and ends, for the line of a fault."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text, self.start, self.end = text, start, end

    def refuse(self, detail: str, path: Path) -> NoReturn:
        """Raise UnreadableDescription for the value at this path."""
        raise UnreadableDescription(
            detail, self.text.count("\n", 0, self.start) + line_of(self.text[self.start : self.end], path)
        )

    def check(self, value: Any, kind: type, path: Path) -> Any:
        """The value, which must be of this kind."""
        if type(value) is not kind:
            name = next((str(part) for part in reversed(path) if isinstance(part, str)), "The JSON")
            self.refuse(f"{name}: not {_TYPES[kind]}.", path)
        return value

    def member(self, row: Json, name: str, kind: type, path: Path) -> Any:
        """A required member of an object."""
        if name not in row:
            self.refuse(f"{name} is missing.", path)
        return self.check(row[name], kind, (*path, name))

    def rows(self, document: Json, name: str, path: Path) -> list[Json]:
        """A list of objects, empty if it is absent."""
        rows = self.check(document.get(name, []), list, (*path, name))
        for i, row in enumerate(rows):
            self.check(row, dict, (*path, name, i))
        return rows  # type: ignore[no-any-return]  # checked

    def broker_ids(self, row: Json, name: str, path: Path) -> list[int]:
        """A required list of integers."""
        ids = self.member(row, name, list, path)
        for i, broker_id in enumerate(ids):
            self.check(broker_id, int, (*path, name, i))
        return ids  # type: ignore[no-any-return]  # checked
