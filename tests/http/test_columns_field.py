"""A Columns field beside the schema that it stands for."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from marshmallow import Schema, ValidationError, fields

from service.api.fingerprints import ObservationSchema
from service.api.partition_counts import HistogramRowSchema
from service.api.partitions import RecordSchema
from service.core.errors import MAX_ERRORS
from service.http.lists import Columns

TYPES = {
    ObservationSchema: {"key": None, "partition_id": pa.int32()},
    HistogramRowSchema: {"key": None, "records": pa.int64(), "bytes": pa.int64()},
    RecordSchema: {"key": None, "partition": pa.int32(), "bytes": pa.int64(), "enable_switch": pa.bool_()},
}
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([2**31, 2**53, 2**53 + 1, 2**63, 1.0, "a", "\ud800", [], {}])
)


@st.composite
def schemas_and_rows(draw):
    schema = draw(st.sampled_from(list(TYPES)))
    names = st.sampled_from([*TYPES[schema], "other"])
    plain = st.fixed_dictionaries({}, optional={name: st.integers(0, 3) for name in TYPES[schema] if name != "enable_switch"})
    return schema, draw(st.lists(st.one_of(plain, st.dictionaries(names, VALUES), VALUES), max_size=6))


@given(schemas_and_rows())
def test_the_field_accepts_what_its_schema_accepts_with_the_same_values_and_faults(case):
    """Whichever way a row is read, in bulk or by the schema."""
    schema, rows = case
    one_by_one = Schema.from_dict({"rows": fields.List(fields.Nested(schema))})()
    in_bulk = Schema.from_dict({"rows": Columns(schema, TYPES[schema])})()
    faults = one_by_one.validate({"rows": rows})
    assert in_bulk.validate({"rows": rows}) == faults
    if not faults:
        expected = one_by_one.load({"rows": rows})["rows"]
        columns = in_bulk.load({"rows": rows})["rows"]
        for name, kind in TYPES[schema].items():
            values = columns[name] if kind is None else columns[name].to_pylist()
            assert values == [row.get(name) for row in expected]


@pytest.mark.parametrize("wrong", [1, "a", None, {"partition_id": -1}])
def test_a_list_of_wrong_rows_has_no_more_faults_than_an_answer_lists(wrong):
    with pytest.raises(ValidationError) as refused:
        Columns(ObservationSchema, TYPES[ObservationSchema]).deserialize([wrong] * 10 * MAX_ERRORS)
    assert list(refused.value.messages) == list(range(MAX_ERRORS))


def test_one_wrong_row_among_many_is_named():
    rows = [{"key": "a", "partition_id": 1}] * 10_000
    rows[7_654] = {"key": "a", "partition_id": "1"}
    with pytest.raises(ValidationError) as refused:
        Columns(ObservationSchema, TYPES[ObservationSchema]).deserialize(rows)
    assert refused.value.messages == {7_654: {"partition_id": ["Not an integer."]}}
