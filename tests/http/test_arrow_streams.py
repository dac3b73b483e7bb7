"""Arrow streams that lie about lengths, offsets, text, or how much a kilobyte holds: every endpoint refuses them."""

from __future__ import annotations

import pkgutil
import struct
import time
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

from service.http.media_types import ARROW_STREAM

ENDPOINTS = {
    "/v1/partitions?partitions_count=12": ("key",),
    "/v1/partitioner-comparisons?partitions_count=12": ("key",),
    "/v1/partitioner-fingerprints": ("key", "partition_id"),
    "/v1/partition-count-plans?partitions_counts=12": ("key",),
    "/v1/decodings?kind=group_record": ("key", "value"),
}
ROWS = 12_345
LENGTH = struct.pack("<q", ROWS)
OFFSETS = np.array([0, 11_111, 33_333], np.int32).tobytes()
MARKED = pa.array([b"a" * 11_111, b"b" * 22_222])
MARK = b"\xff\xff\xff\xff"
SIZE = 77_776
LIE_ABOUT_SIZE = (struct.pack("<q", SIZE) + b"\x28\xb5\x2f\xfd", struct.pack("<q", 2**40) + b"\x28\xb5\x2f\xfd")
NOT_UTF_8 = pa.StringArray.from_buffers(2, pa.py_buffer(np.array([0, 1, 2], np.int32)), pa.py_buffer(b"\xff\xfe"))
NULLS_NOT_UTF_8 = pa.StringArray.from_buffers(
    4, pa.py_buffer(np.arange(5, dtype=np.int32)), pa.py_buffer(b"\xf0" * 4), pa.py_buffer(b"\0")
)
MANY_VIEWS = struct.pack("<i4sii", 2**20, b"aaaa", 0, 0) * 2**16


def stream(columns: tuple[str, ...], keys: pa.Array) -> bytes:
    ids = pa.array(np.zeros(len(keys), np.int32))
    table = pa.table({name: ids if name == "partition_id" else keys for name in columns})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def packed(columns: tuple[str, ...]) -> bytes:
    """A stream of these columns whose buffers are compressed."""
    table = pa.table({name: pa.array(np.zeros(SIZE // 8, np.int64)) for name in columns})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def before_0_15(body: bytes) -> bytes:
    """A stream as Arrow wrote it before 0.15: no mark before the length of a message's metadata."""
    pieces = []
    for message in pa.ipc.MessageReader.open_stream(body):
        metadata = message.metadata.to_pybytes()
        pieces += [struct.pack("<i", len(metadata)), metadata, message.body.to_pybytes() if message.body else b""]
    return b"".join([*pieces, bytes(4)])


def dictionary(values: pa.Array, indices: list[int]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), values, safe=False)


def refused(client, path: str, body: bytes) -> None:
    start = time.process_time()
    answer = client.post(path, data=body, content_type=ARROW_STREAM)
    assert answer.status_code in (400, 413, 422), answer.data
    assert answer.json["detail"]
    assert time.process_time() - start < 5


@pytest.mark.parametrize("path", ENDPOINTS)
@pytest.mark.parametrize("name", [b"k\xffy", b"\xed\xa0\x80", b"\xff\xfe\xfd"])
def test_the_name_of_a_column_is_utf_8(client, path, name):
    body = stream(ENDPOINTS[path], pa.array([b"a"]))
    assert body.count(b"key") == 1
    answer = client.post(path, data=body.replace(b"key", name), content_type=ARROW_STREAM)
    assert answer.status_code == 400
    assert f"the name of a column is not UTF-8: {name!r}." in answer.json["detail"]


@pytest.mark.parametrize("path", ENDPOINTS)
@pytest.mark.parametrize("offsets", [(0, 33_333, 5), (0, 5, 2**31 - 1), (-5, 5, 6), (0, 5, 40_000)])
@pytest.mark.parametrize("in_dictionary", [False, True])
def test_offsets_are_within_their_buffer_and_ascend(client, path, offsets, in_dictionary):
    body = stream(ENDPOINTS[path], dictionary(MARKED, [0, 1]) if in_dictionary else MARKED)
    assert OFFSETS in body
    refused(client, path, body.replace(OFFSETS, np.array(offsets, np.int32).tobytes()))


@pytest.mark.parametrize("path", ENDPOINTS)
@pytest.mark.parametrize("length", [2**62, 2**31 - 1, 100_000, -1])
@pytest.mark.parametrize(
    "keys",
    [
        pa.array(range(ROWS)), pa.array([b"a"] * ROWS), pa.array([b"a"] * ROWS, pa.binary(1)),
        pa.array([None, *["a"] * (ROWS - 1)]),
        pa.array(["a"] * ROWS, pa.string_view()), pa.array(["a"] * ROWS).dictionary_encode(), pa.array([True] * ROWS),
    ],
    ids=lambda keys: str(keys.type),
)  # fmt: skip
def test_a_column_has_the_rows_that_it_says(client, path, length, keys):
    body = stream(ENDPOINTS[path], keys)
    assert LENGTH in body
    refused(client, path, body.replace(LENGTH, struct.pack("<q", length)))


@pytest.mark.parametrize("path", ENDPOINTS)
@pytest.mark.parametrize("length", [2**62, 2**31 - 1, -1])
def test_rows_without_a_buffer_count(client, path, length):
    body = stream(("key",), pa.nulls(ROWS))
    refused(client, path, body.replace(LENGTH, struct.pack("<q", length)))


@pytest.mark.parametrize("path", [path for path in ENDPOINTS if "decodings" not in path])
@pytest.mark.parametrize("keys", [NOT_UTF_8, dictionary(NOT_UTF_8, [0, 1]), dictionary(pa.array(["a", "b"]), [0, 77])])
def test_texts_are_utf_8_and_indices_within_the_dictionary(client, path, keys):
    refused(client, path, stream(ENDPOINTS[path], keys))


@pytest.mark.parametrize("path", [path for path in ENDPOINTS if "decodings" not in path])
def test_a_null_is_a_null_whatever_its_place_has(client, path):
    """Kernels read it: one decoded it and ended in a 500, another wrote two units for each byte F0."""
    answers = [
        client.post(path, data=stream(ENDPOINTS[path], keys), content_type=ARROW_STREAM)
        for keys in (NULLS_NOT_UTF_8, pa.nulls(4, pa.string()))
    ]
    assert answers[0].status_code == answers[1].status_code < 500
    assert answers[0].data == answers[1].data or answers[0].status_code != 200


@pytest.mark.parametrize("path", ENDPOINTS)
@pytest.mark.parametrize(
    "keys",
    [
        dictionary(pa.array(["a" * 2**20]), [0] * 2**16),
        pa.Array.from_buffers(pa.string_view(), 2**16, [None, pa.py_buffer(MANY_VIEWS), pa.py_buffer(b"a" * 2**20)]),
    ],
    ids=["dictionary", "views"],
)
def test_what_many_keys_share_counts_for_each(client, path, keys):
    """A stream of a megabyte, a kilobyte as gzip, whose 65,536 keys are a megabyte each."""
    refused(client, path, stream(ENDPOINTS[path], keys))


def test_a_dictionary_and_views_reserve_the_memory_of_their_keys(client, monkeypatch):
    sizes = []
    monkeypatch.setattr("service.http.application.App.reserve", lambda _hooks, _environ, size: sizes.append(size))
    path = "/v1/partitions?partitions_count=12"
    for keys in (
        dictionary(pa.array(["a" * 1_000, None]), [0] * 99 + [1]),
        pa.array(["a" * 1_000] * 99 + [None], pa.string_view()),
    ):
        assert client.post(path, data=stream(("key",), keys), content_type=ARROW_STREAM).status_code == 200
        assert sum(sizes) >= 2 * 99_000
        sizes.clear()


def test_a_stream_may_take_the_cpu_of_all_that_it_sends(client, monkeypatch):
    """It is read batch by batch, and had the time of one kilobyte: 5 s for ten million keys."""
    sent = []
    monkeypatch.setattr("service.core.budget.Budget.check_time", lambda limit: sent.append(limit.kilobytes))
    monkeypatch.setattr(client.application.extensions["warm"], "is_set", lambda: True)
    body = stream(("key",), pa.array([f"key-{i}" for i in range(2**17)]))
    path = "/v1/partition-count-plans?partitions_counts=12"
    assert client.post(path, data=body, content_type=ARROW_STREAM).status_code == 200
    assert min(sent) == len(body) / 1_000


EMPTY_BATCHES = 200


@pytest.mark.parametrize("path", ENDPOINTS)
def test_batches_without_rows_take_their_time_and_memory(client, monkeypatch, path):
    """A million of them, 620 kB of gzip, took 1.4 GB and half a minute that nothing counted."""
    sizes, looks = [], []
    monkeypatch.setattr("service.http.application.App.reserve", lambda _hooks, _environ, size: sizes.append(size))
    monkeypatch.setattr("service.core.budget.Budget.check_time", lambda _: looks.append(1))
    columns = ENDPOINTS[path]
    empty = pa.record_batch({name: pa.array([], pa.int32() if name == "partition_id" else pa.binary()) for name in columns})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, empty.schema) as writer:
        for _ in range(EMPTY_BATCHES):
            writer.write_batch(empty)
    client.post(path, data=sink.getvalue().to_pybytes(), content_type=ARROW_STREAM)
    assert len(looks) >= EMPTY_BATCHES
    assert sum(sizes) > 2_000 * EMPTY_BATCHES or "plans" in path  # which keeps no batch


@pytest.mark.parametrize("path", [path for path, columns in ENDPOINTS.items() if columns == ("key",)])
def test_streams_from_before_arrow_0_15_have_the_same_limits(client, path):
    body = packed(("key",))
    old = before_0_15(body)
    answers = [client.post(path, data=each, content_type=ARROW_STREAM) for each in (body, old)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].data == answers[1].data
    assert LIE_ABOUT_SIZE[0] in old
    answer = client.post(path, data=old.replace(*LIE_ABOUT_SIZE), content_type=ARROW_STREAM)
    assert answer.status_code == 413, answer.data
    assert f"{2**40 // 10**4}" in answer.json["detail"]


@pytest.mark.parametrize("path", [path for path, columns in ENDPOINTS.items() if columns == ("key",)])
def test_a_buffer_that_no_column_has_cannot_hide_the_size_of_others(client, path):
    """Its negative length is not read by Arrow, but would be subtracted from what the others take."""
    _, batch = pa.ipc.MessageReader.open_stream(packed(("key", "x")))
    metadata, body = batch.metadata.to_pybytes(), batch.body.to_pybytes()
    half = len(body) // 2
    length = metadata.rindex(struct.pack("<q", half)) + 8
    assert half - 8 < struct.unpack_from("<q", metadata, length)[0] <= half
    lying = metadata[:length] + struct.pack("<q", -(2**40)) + metadata[length + 8 :]
    content = body[:half].replace(*LIE_ABOUT_SIZE) + struct.pack("<q", -(2**40)) + body[half + 8 :]
    schema = stream(("key",), pa.array([], pa.int64())).split(MARK)[1]
    sent = MARK.join([b"", schema, struct.pack("<i", len(lying)) + lying + content])
    answer = client.post(path, data=sent, content_type=ARROW_STREAM)
    assert answer.status_code == 400
    assert answer.json["detail"] == "The body is not an Arrow stream: the offset or length of a buffer is negative"


@pytest.mark.parametrize("path", [path for path, columns in ENDPOINTS.items() if columns == ("key",)])
def test_compression_as_of_arrow_0_17_is_refused(client, path):
    """Arrow would decompress the buffers by a name in other metadata, and allocate what they say."""
    keys = np.array([2**40, 0, 0, 0])
    batch = pa.record_batch({"key": pa.array(keys)})
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(metadata_version=pa.ipc.MetadataVersion.V4)
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch, custom_metadata={"ARROW:experimental_compression": "zstd"})
    answer = client.post(path, data=sink.getvalue().to_pybytes(), content_type=ARROW_STREAM)
    assert answer.status_code == 400
    assert "compressed as by Arrow 0.17" in answer.json["detail"]


@pytest.mark.parametrize("path", ENDPOINTS)
def test_metadata_may_be_any_bytes(client, path):
    keys = pa.table({name: pa.array([b"a"]) if name != "partition_id" else pa.array([0]) for name in ENDPOINTS[path]})
    odd = keys.replace_schema_metadata({b"\xff": b"\xed\xa0\x80", b"pandas": b"\xff{"})
    bodies = []
    for table in (keys, odd):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        bodies.append(client.post(path, data=sink.getvalue().to_pybytes(), content_type=ARROW_STREAM))
    plain, other = bodies
    assert other.status_code == plain.status_code < 500
    assert other.data == plain.data or plain.status_code != 200


@pytest.mark.parametrize("path", ENDPOINTS)
def test_nothing_may_follow_the_end_of_a_stream(client, path):
    """Arrow would leave a second stream unread."""
    body = stream(ENDPOINTS[path], pa.array([b"a"]))
    answer = client.post(path, data=body + body, content_type=ARROW_STREAM)
    assert answer.status_code == 400
    assert answer.json["detail"] == "The body is not an Arrow stream: more bytes follow its end"


@pytest.mark.parametrize("path", [path for path in ENDPOINTS if "decodings" not in path and "plans" not in path])
def test_a_delta_of_a_dictionary_takes_the_memory_of_all_of_it(client, monkeypatch, path):
    """200 deltas of a key each of 1.6 MB of keys took 470 MB, and 3 were reserved. Only plans keep no batch."""
    sizes = []
    monkeypatch.setattr("service.http.application.App.reserve", lambda _hooks, _environ, size: sizes.append(size))
    keys = pa.array([f"key-{i:06}" for i in range(10_020)])
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    batches = []
    for size in range(10_000, 10_020):
        column = pa.DictionaryArray.from_arrays(pa.array([0]), keys[:size])
        batches.append(pa.record_batch({name: pa.array([0]) if name == "partition_id" else column for name in ENDPOINTS[path]}))
    with pa.ipc.new_stream(sink, batches[0].schema, options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)
    assert writer.stats.num_dictionary_deltas == 19
    assert client.post(path, data=sink.getvalue().to_pybytes(), content_type=ARROW_STREAM).status_code == 200
    assert sum(sizes) > 20 * 10_000 * len("key-000000")


def in_rows(columns: tuple[str, ...], chunks: list[pa.Array]) -> bytes:
    """A stream of a batch for each row."""
    table = pa.table(
        {name: pa.array([0] * sum(map(len, chunks))) if name == "partition_id" else pa.chunked_array(chunks) for name in columns}
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)) as writer:
        writer.write_table(table, max_chunksize=1)
    return sink.getvalue().to_pybytes()


WORDS = ["a", None, "b", "a", "c", "", "x" * 5_000, "b", "ab"]
CHUNKS = {
    "plain": [pa.array(WORDS)],
    "one dictionary": [pa.array(WORDS).dictionary_encode()],
    "dictionaries": [pa.array(some).dictionary_encode() for some in (WORDS, WORDS[::-1], ["new"], WORDS)],
    "a dictionary that grows": [
        pa.DictionaryArray.from_arrays(pa.array([0, n - 1]), pa.array(["a", "b", "c"][:n])) for n in (1, 2, 3)
    ],
}


@pytest.mark.parametrize("path", [path for path in ENDPOINTS if "decodings" not in path])
@pytest.mark.parametrize("name", CHUNKS)
def test_batches_say_the_same_as_one(client, path, name):
    chunks = CHUNKS[name]
    values = [value for chunk in chunks for value in chunk.to_pylist()]
    bodies = in_rows(ENDPOINTS[path], chunks), stream(ENDPOINTS[path], pa.array(values))
    in_batches, as_one = (client.post(path, data=body, content_type=ARROW_STREAM) for body in bodies)
    assert in_batches.status_code == 200, in_batches.data
    assert in_batches.data == as_one.data


def calls(monkeypatch, name: str) -> list[object]:
    """The calls of a function, by its full name, are listed from now on."""
    module, _, function = name.rpartition(".")
    called, run = [], getattr(pkgutil.resolve_name(module), function)
    monkeypatch.setattr(name, lambda *args, **kwargs: called.append(1) or run(*args, **kwargs))
    return called


def test_small_batches_are_counted_together(client, monkeypatch):
    """60,000 of one row took 10 s of CPU, now 2."""
    added = calls(monkeypatch, "service.planner.sizing.counter.KeyCounter.add")
    body = in_rows(("key",), [pa.array(["a"] * 600)])
    assert client.post("/v1/partition-count-plans?partitions_counts=12", data=body, content_type=ARROW_STREAM).status_code == 200
    assert len(added) == 2


@pytest.mark.parametrize("path", [path for path in ENDPOINTS if "decodings" not in path])
def test_a_dictionary_that_batches_share_is_decoded_once(client, monkeypatch, path):
    """Each of 60,000 batches of a row took the time of a dictionary of 5 MB: minutes in which nothing looked at the time."""
    decoded = calls(monkeypatch, "service.decisions.keys._decoded")
    body = in_rows(ENDPOINTS[path], [pa.array(["a", "b"] * 50).dictionary_encode()])
    assert client.post(path, data=body, content_type=ARROW_STREAM).status_code == 200
    assert len(decoded) == 1


CLAIM = 70 * 2**20


@pytest.mark.parametrize("path", ENDPOINTS)
@pytest.mark.parametrize("place", ["first metadata", "metadata", "body"])
def test_what_a_message_says_of_its_length_is_not_allocated(client, path, place):
    body = stream(ENDPOINTS[path], pa.array([b"a"]))
    schema, batch = pa.ipc.MessageReader.open_stream(body)
    metadata, claim = batch.metadata.to_pybytes(), struct.pack("<i", CLAIM)
    lies = {
        "first metadata": MARK + claim,
        "metadata": body[: 8 + schema.metadata.size] + MARK + claim,
        "body": body.replace(metadata, metadata.replace(struct.pack("<q", batch.body.size), struct.pack("<q", CLAIM))),
    }
    tracemalloc.start()
    refused(client, path, lies[place])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < CLAIM / 10


def test_batches_of_a_plan_reserve_what_the_largest_takes(client, monkeypatch):
    """The keys of each dictionary added up, though none are kept, so that a long stream was refused."""
    sizes = []
    monkeypatch.setattr("service.http.application.App.reserve", lambda _hooks, _environ, size: sizes.append(size))
    reserved = []
    for count in (1, 30):
        sizes.clear()
        body = stream(("key",), pa.chunked_array([pa.array(["a" * 100_000]).dictionary_encode()] * count))
        path = "/v1/partition-count-plans?partitions_counts=12"
        assert client.post(path, data=body, content_type=ARROW_STREAM).status_code == 200
        reserved.append(sum(sizes))
    assert reserved[1] < 2 * reserved[0]


def shared_field(count: int) -> bytes:
    """A stream without batches whose schema has one field many times: offsets of a FlatBuffer may all point to one table."""
    metadata = stream(("key",), pa.array([], pa.string())).split(MARK)[1][4:]
    one = struct.pack("<II", 1, 20)  # a vector, and how far its only field is from its place
    assert metadata.count(one) == 1
    offsets = struct.pack(f"<{count}I", *(20 + 4 * (count - 1 - i) for i in range(count)))
    metadata = metadata.replace(one, struct.pack("<I", count) + offsets)
    metadata += bytes(-len(metadata) % 8)
    return MARK + struct.pack("<i", len(metadata)) + metadata + MARK + bytes(4)


@pytest.mark.parametrize("path", ENDPOINTS)
def test_fields_of_a_schema_may_share_bytes_but_no_memory(client, monkeypatch, path):
    """A million in 4 MB took 264 MiB, of which none was reserved."""
    sizes = []
    monkeypatch.setattr("service.http.application.App.reserve", lambda _hooks, _environ, size: sizes.append(size))
    answer = client.post(path, data=shared_field(1_000), content_type=ARROW_STREAM)
    assert "The stream has the columns" in answer.json["detail"]
    assert sum(sizes) > 264 * 1_000
    answer = client.post(path, data=shared_field(10_001), content_type=ARROW_STREAM)
    assert answer.status_code == 400
    assert "more than 10000 fields" in answer.json["detail"]
