"""The example for franz-go passes its own tests, one of which asks the service."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.advisers import advising
from tests.support.clients import UNOPTIMIZED, NotHere, go

EXAMPLE = Path(__file__).parents[2] / "clients" / "go"


@pytest.mark.slow
def test_the_example_for_franz_go_passes_its_tests():
    try:
        program = go()
    except NotHere as error:
        pytest.skip(str(error))
    with advising() as adviser:
        environment = os.environ | {"PARTITION_ALLOCATOR_URL": adviser.url}
        command = [program, "test", "-count=1", "-vet=off", UNOPTIMIZED, "./..."]
        tested = subprocess.run(command, cwd=EXAMPLE, env=environment, capture_output=True, text=True, check=False)
        assert tested.returncode == 0, tested.stdout + tested.stderr
        assert len(adviser.asked) == 1
