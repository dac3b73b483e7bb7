"""Large well-formed JSON values into flat Arrow arrays, with no Python work per row.

Whatever is not plainly well-formed is left to the declarative schema, which names the exact place.
"""

import pyarrow as pa
import pyarrow.json


def read_object(text: bytes, members: dict[str, pa.DataType]) -> dict[str, pa.Array] | None:
    """A JSON object straight from its text, without Python objects: each member as an Arrow array of one value.

    members : what the object may hold
    None unless the text is an object that fits to the letter; so it says nothing about what is wrong. Null and absent are one.
    """
    # It would accept a byte order mark, which is not JSON.
    if not text.lstrip().startswith(b"{"):
        return None
    reading = pa.json.ReadOptions(use_threads=False, block_size=len(text) + 1)
    parsing = pa.json.ParseOptions(explicit_schema=pa.schema(members), unexpected_field_behavior="error", newlines_in_values=True)
    try:
        table = pa.json.read_json(pa.BufferReader(text), reading, parsing)
        table.validate(full=True)  # the strings may be no UTF-8
    except pa.ArrowException:
        return None
    return {name: table.column(name).chunk(0) for name in members} if table.num_rows == 1 else None
