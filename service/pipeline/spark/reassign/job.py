"""``reassign``: the plan of ``POST /v1/reassignments`` for placements that do not fit into a request.

The plan is one network over all topics, so the driver reads the tables and computes it: a million partitions with three replicas
are 30 MB of arrays.
"""

from typing import Any

from service.pipeline.analyses.outcome import Outcome
from service.pipeline.analyses.reassign.outcome import BROKERS, OPTIONAL, PLACED, reassign
from service.pipeline.spark.io.scan import read_table
from service.pipeline.spark.io.sources import Source
from service.pipeline.spark.job import Pipeline


def run(pipeline: Pipeline, *, placements: Source, brokers: Source, **options: Any) -> Outcome:
    """Read both tables, plan."""
    with pipeline.progress("reading placements"):
        placed = read_table(pipeline.spark, placements, PLACED, OPTIONAL)
    cluster = read_table(pipeline.spark, brokers, *BROKERS)
    return reassign((str(placements), placed), (str(brokers), cluster), **options)
