"""JSON in Python."""

from typing import Any

Json = dict[str, Any]
"""A JSON object."""
