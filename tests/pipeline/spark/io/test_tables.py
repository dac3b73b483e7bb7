"""Tables that the driver reads whole: the same types and rows by every reader, and the first misfit is named."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from service.pipeline.files.rejected import WrongTable
from service.pipeline.spark.errors import WrongSource
from service.pipeline.spark.io.scan import read_table
from service.pipeline.spark.io.sources import Source

REQUIRED = {"broker_id": pa.int32(), "replicas": pa.list_(pa.int32())}
OPTIONAL = {"fenced": pa.bool_(), "weight": pa.float64(), "rack_id": pa.string(), "bytes": pa.int64()}
TEXT = 'broker_id,weight,replicas,fenced,rack_id,other\n7, 1.5 ,"[1, 2]",TRUE,0,x\n-1,,3,,,y\n'
ROWS = [
    {"broker_id": 7, "replicas": [1, 2], "fenced": True, "weight": 1.5, "rack_id": "0"},
    {"broker_id": -1, "replicas": [3], "fenced": None, "weight": None, "rack_id": None},
]


def test_text_has_the_types_of_its_columns(pipeline, write):
    """CSV, also with a quote within a field, and JSON."""
    odd = TEXT.replace(",x\n", ',x"\n')
    json = (
        '{"broker_id": 7, "weight": 1.5, "replicas": [1, 2], "fenced": true, "rack_id": 0}\n{"broker_id": -1, "replicas": [3]}\n'
    )
    for name, text in (("a.csv", TEXT), ("odd.csv", odd), ("a.jsonl", json)):
        table = read_table(pipeline, Source.parse(write(name, text)), REQUIRED, OPTIONAL)
        assert table.to_pylist() == ROWS, name
        assert table.schema.types == [kind for name, kind in {**REQUIRED, **OPTIONAL}.items() if name != "bytes"]


def test_numbers_become_other_numbers_if_they_are_equal(pipeline, tmp_path):
    """As pandas writes integers beside nulls."""
    path = str(tmp_path / "a.parquet")
    pq.write_table(
        pa.table({"broker_id": [1.0, None], "replicas": pa.array([[1], [2**31 - 1]], pa.large_list(pa.int64()))}), path
    )
    table = read_table(pipeline, Source.parse(path), REQUIRED, OPTIONAL)
    assert table.to_pylist() == [{"broker_id": 1, "replicas": [1]}, {"broker_id": None, "replicas": [2**31 - 1]}]


def test_files_may_have_integers_of_different_widths(pipeline, tmp_path):
    for name, kind in (("1", pa.int32()), ("2", pa.int64())):
        pq.write_table(pa.table({"broker_id": pa.array([int(name)], kind), "replicas": ["1"]}), tmp_path / f"{name}.parquet")
    table = read_table(pipeline, Source.parse(str(tmp_path)), REQUIRED, OPTIONAL)
    assert table["broker_id"].to_pylist() == [1, 2]
    pq.write_table(pa.table({"broker_id": ["3"], "replicas": ["1"]}), tmp_path / "3.parquet")
    with pytest.raises(WrongSource, match=r"Its files have columns of different types: .*broker_id"):
        read_table(pipeline, Source.parse(str(tmp_path)), REQUIRED, OPTIONAL)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"broker_id": [1, 2**31], "replicas": [[1], [1]]}, "broker_id of row 2 is '2147483648', which is not of type int32"),
        ({"broker_id": [*range(1000), 0.5], "replicas": [[1]] * 1001}, r"broker_id of row 1,001 is '0\.5'"),
        ({"broker_id": [1], "replicas": ["1;2"]}, "replicas of row 1 is '1;2', which is not of type list"),
        ({"broker_id": [1, 2], "replicas": ["1", "2,"]}, "replicas of row 2 is '2,'"),
        ({"broker_id": [1], "replicas": ["1"], "fenced": ["yes\n"]}, r"fenced of row 1 is 'yes\\x0a', which is not of type bool"),
        (
            {"broker_id": [1], "replicas": ["1"], "bytes": [{"a": 1}]},
            "The column 'bytes' is struct<a: int64>, which cannot become int64",
        ),
        ({"broker": [1], "replicas": ["1"]}, r"no column 'broker_id' \(did you mean 'broker'\?\)"),
    ],
)
def test_the_first_misfit_is_named(pipeline, tmp_path, columns, message):
    path = str(tmp_path / "a.parquet")
    pq.write_table(pa.table(columns), path)
    with pytest.raises((WrongSource, WrongTable), match=message):
        read_table(pipeline, Source.parse(path), REQUIRED, OPTIONAL)
