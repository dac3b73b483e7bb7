"""``reassign``: the plan of ``POST /v1/reassignments`` for placements that do not fit into a request.

The plan is one network over all topics, so the driver reads the tables and computes it: a million partitions with three replicas
are 30 MB of arrays.
"""

from typing import Any

from service.pipeline.analyses.reassign import BROKERS, OPTIONAL, PLACED, reassign
from service.pipeline.analyses.results import Outcome
from service.pipeline.spark.io.scan import read_table
from service.pipeline.spark.io.sinks import Pipeline
from service.pipeline.spark.io.sources import Source


def run(pipeline: Pipeline, *, placements: Source, brokers: Source, **options: Any) -> Outcome:
    """Read both tables, plan."""
    with pipeline.progress("reading placements"):
        placed = read_table(pipeline, placements, PLACED, OPTIONAL)
    cluster = read_table(pipeline, brokers, *BROKERS)
    return reassign((str(placements), placed), (str(brokers), cluster), **options)
