"""The media types of answers. No import, so that commands start quickly."""

from typing import Final

JSON: Final = "application/json"
JSON_LINES: Final = "application/x-ndjson"
ARROW_STREAM: Final = "application/vnd.apache.arrow.stream"
CSV: Final = "text/csv"
