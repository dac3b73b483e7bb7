"""An answer of the library: the service's JSON document as a dict, which shows itself in a notebook."""

from __future__ import annotations

from typing import Any, Final

LONGEST_REPR: Final = 400
LONGEST_VALUE: Final = 160


class Answer(dict[str, Any]):
    """The document that an endpoint answers; ``openapi.yaml`` describes its fields.

    In a notebook it is a table and a picture; elsewhere ``repr`` names its fields, with the number of their elements.
    ``dict(answer)`` prints in full.
    """

    def __init__(self, document: dict[str, Any], path: str = "") -> None:
        """Path : of the endpoint, which decides what a notebook shows."""
        super().__init__(document)
        self.path = path

    def __repr__(self) -> str:
        """One line: the conclusion first, then short values as they are, lists and objects by their size."""
        first = {"conclusion": self["conclusion"]} if "conclusion" in self else {}
        fields = ", ".join(f"{name!r}: {_short(value)}" for name, value in {**first, **self}.items())
        return f"Answer({{{fields if len(fields) <= LONGEST_REPR else fields[:LONGEST_REPR] + '…'}}})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied by its constructor, which a dict's own way of copying passes by."""
        return Answer, (dict(self), self.path)

    def _repr_html_(self) -> str:
        from partition_allocator.notebook import html  # noqa: PLC0415 - only notebooks show pages

        return html(self, self.path)


def _short(value: Any) -> str:
    if isinstance(value, list) and value:
        return f"[{len(value):,} {'element' if len(value) == 1 else 'elements'}]"
    if isinstance(value, dict) and value:
        return f"{{{len(value):,} {'field' if len(value) == 1 else 'fields'}}}"
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"
