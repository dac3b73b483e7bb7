"""The contract, ``openapi.yaml``, as text and as read."""

from __future__ import annotations

from typing import Any

import yaml

from tests.support.golden import PROJECT

TEXT = (PROJECT / "openapi.yaml").read_text()
CONTRACT: dict[str, Any] = yaml.load(TEXT, yaml.CSafeLoader)  # Python's own takes a second, in each process of tests
