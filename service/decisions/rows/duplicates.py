"""Rows with a name or an id that an earlier row has, and values that are listed twice."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from service.core.errors import MAX_ERRORS, InvalidQuestion


def in_column(field: str, rows: pa.StructArray, name: str) -> Iterator[InvalidQuestion]:
    """The rows of a field with the same ``name`` as an earlier row; nulls are not the same."""
    values = rows.field(name)
    if values.null_count == len(values):
        return
    codes = values.dictionary_encode().indices.drop_null().to_numpy(zero_copy_only=False)
    _, firsts = np.unique(codes, return_index=True)
    if len(firsts) == len(codes):
        return
    places = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
    for at in np.delete(places, firsts)[:MAX_ERRORS].tolist():
        yield InvalidQuestion(f"Duplicate {name} {values[at].as_py()!r}.", field, at, name)


def in_rows(rows: Iterable[Mapping[str, Any]], name: str, *place: str | int) -> Iterator[InvalidQuestion]:
    """The rows of a list with the same ``name`` as an earlier row. place : of the list"""
    seen = set()
    for i, row in enumerate(rows):
        if row[name] in seen:
            yield InvalidQuestion(f"Duplicate {name} {row[name]!r}.", *place, i, name)
        seen.add(row[name])


def in_list(values: Iterable[Any], *place: str | int) -> Iterator[InvalidQuestion]:
    """The values of a list that are the same as an earlier one. place : of the list"""
    seen = set()
    for i, value in enumerate(values):
        if value in seen:
            yield InvalidQuestion(f"Duplicate value {value!r}.", *place, i)
        seen.add(value)
