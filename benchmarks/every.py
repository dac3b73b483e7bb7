"""Every benchmark: importing this module declares them all."""

from benchmarks import (  # noqa: F401 - importing declares the benchmarks
    groups,
    groups_ask,
    groups_balanced,
    groups_clients,
    groups_curve,
    groups_http,
    groups_streams,
    log_dirs,
    member_counts,
    partition_counts,
    partitions,
    pipeline,
    pipeline_engines,
    placements,
    reassignments,
    reassignments_peers,
    rebalances,
)
