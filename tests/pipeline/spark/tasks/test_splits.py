"""Plain Parquet in splits: every record is read once, by tasks of equal size."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from service.pipeline.analyses.results import merged
from service.pipeline.analyses.skew.scan import SkewScan
from service.pipeline.spark.tasks import parquet_files
from service.pipeline.spark.tasks.parquet_files import ParquetFiles, ParquetWriter, SplitReader, UnreadableParquet

RECORDS = pa.table({"key": [f"key-{i}" for i in range(20_000)], "value": ["x" * (i % 9) for i in range(20_000)]})


@pytest.fixture
def parquet(tmp_path):
    """A folder of two files with several row groups each."""
    folder = tmp_path / "records"
    folder.mkdir()
    pq.write_table(RECORDS.slice(0, 15_000), folder / "a.parquet", row_group_size=2_000)
    pq.write_table(RECORDS.slice(15_000), folder / "b.parquet", row_group_size=1_000)
    return str(folder)


def test_a_row_group_is_read_by_one_split_alone(parquet):
    """However small the splits are cut."""
    files = parquet_files.find(parquet)
    for tasks in (1, 3, 50):
        lists = files.splits(tasks)
        assert len(lists) <= tasks
        batches = [batch for task in lists for batch in files.batches_of(task, ["key"])]
        assert pa.Table.from_batches(batches).column("key").to_pylist() == RECORDS.column("key").to_pylist()


@pytest.mark.parametrize("rows", [1, 16, 3_000])
@pytest.mark.parametrize("tasks", [1, 3, 50])
def test_rows_that_take_long_are_divided_within_row_groups(parquet, tasks, rows):
    """Each is read once, by tasks of about as many rows."""
    files = parquet_files.find(parquet)
    lists = files.splits(tasks)
    of_tasks = [[*files.few_rows_of(task, ["key"], rows)] for task in lists]
    batches = [batch for batches in of_tasks for batch in batches]
    assert pa.Table.from_batches(batches).column("key").to_pylist() == RECORDS.column("key").to_pylist()
    assert max(batch.num_rows for batch in batches) <= rows
    counts = [sum(batch.num_rows for batch in batches) for batches in of_tasks]
    assert max(counts) < 1.5 * len(RECORDS) / tasks


def test_nested_types_are_those_outside_arrow(tmp_path):
    kind = pa.list_(pa.struct({"name": pa.dictionary(pa.int32(), pa.string()), "racks": pa.large_list(pa.string_view())}))
    rows = [[{"name": "t", "racks": ["a", None]}], [], None]
    path = str(tmp_path / "nested.parquet")
    pq.write_table(pa.table({"topics": pa.array(rows, kind)}), path)
    files = parquet_files.find(path)
    (split,) = files.splits(1)
    (batch,) = files.few_rows_of(split, ["topics"], 5)
    assert batch.column(0).type == pa.list_(pa.struct({"name": pa.string(), "racks": pa.large_list(pa.string())}))
    assert batch.column(0).to_pylist() == rows


@pytest.mark.parametrize("kind", ["categories", "views"])
def test_parquet_is_what_it_is_to_spark_whatever_its_writer_held(tmp_path, kind):
    """As pandas and Polars have them."""
    table = RECORDS.select(["key", "value"])
    if kind == "categories":
        held = pa.table({name: table.column(name).dictionary_encode() for name in table.column_names})
    else:
        held = table.cast(pa.schema([("key", pa.string_view()), ("value", pa.string_view())]))
    path = str(tmp_path / "held.parquet")
    pq.write_table(held, path)
    files = parquet_files.find(path)
    assert files.schema().types == [pa.string(), pa.string()]
    assert pa.Table.from_batches(files.batches(["key", "value"])) == table


def test_a_file_that_lacks_a_column_of_the_others_is_named(tmp_path):
    for name, column in (("1.parquet", "key"), ("2.parquet", "keys")):
        pq.write_table(pa.table({column: ["a"]}), tmp_path / name)
    with pytest.raises(UnreadableParquet, match=r"2\.parquet has no column 'key'"):
        list(parquet_files.find(str(tmp_path)).batches(["key"]))


@pytest.mark.parametrize("tasks", [1, 4, 7])
def test_every_task_reads_as_many_bytes(tasks):
    """Of one large file as of many: all of them, each once."""
    of = [("large", 842_756_784), *((f"small-{i}", 3_371_190 + i) for i in range(40)), ("empty", 0)]
    lists = ParquetFiles(of).splits(tasks)
    read = [sum(split.end - split.start for split in task) for task in lists]
    assert len(read) == tasks
    assert max(read) - min(read) < tasks
    for path, size in of:
        cuts = sorted((split.start, split.end) for task in lists for split in task if split.location == path)
        assert [0, *(end for _, end in cuts)] == [*(start for start, _ in cuts), size]


def test_folders_that_are_more_than_files_are_left_to_spark(tmp_path):
    assert parquet_files.find(str(tmp_path / "nothing")) is None
    pq.write_to_dataset(RECORDS, tmp_path / "by-value", partition_cols=["value"])
    assert parquet_files.find(str(tmp_path / "by-value")) is None


@pytest.mark.parametrize(("size", "row_groups"), [(parquet_files.ROW_GROUP_BYTES, 1), (1, 5)])
def test_small_batches_become_few_row_groups(tmp_path, monkeypatch, size, row_groups):
    monkeypatch.setattr(parquet_files, "ROW_GROUP_BYTES", size)
    batches = [pa.record_batch({"n": [3 * i, 3 * i + 1]}) for i in range(5)]
    (written,) = ParquetWriter(lambda _: iter(batches), batches[0].schema, str(tmp_path))(iter(()))
    file = pq.ParquetFile(tmp_path / written.column("file")[0].as_py())
    assert (file.num_row_groups, file.read()) == (row_groups, pa.Table.from_batches(batches))


@pytest.mark.parametrize(("sizes", "computes"), [([1, 2, 3, 4], True), ([1, None, 3, 4], False)])
def test_a_task_ends_at_the_first_row_that_it_rejects(tmp_path, monkeypatch, sizes, computes):
    """Spark then runs it for the rows, too."""
    monkeypatch.setattr(parquet_files, "BATCH_ROWS", 2)
    path = str(tmp_path / "keys.parquet")
    pq.write_table(pa.table({"key": ["a", "b", "c", "d"], "size": sizes}), path)
    files, batches = parquet_files.find(path), []
    scan = SkewScan(("key",), "string", ("java",), (12,), size_columns=("size",))
    read = files.batches_of
    monkeypatch.setattr(ParquetFiles, "batches_of", lambda _, *of: (batches.append(batch) or batch for batch in read(*of)))
    partial = SplitReader(scan, files, files.splits(1)).partial(0)
    assert ((partial is not None), len(batches)) == ((True, 2) if computes else (False, 1))
    assert not computes or merged([partial]).counts.records == 4
