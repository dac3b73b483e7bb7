"""Plain-Python twin of ``service.planner.timelines.topics.Topology.arrivals``."""

from __future__ import annotations


def arrival_ms(versions: list[tuple[int, list[int]]], version: int, requested_ms: int, topics: list[int], max_age_ms: int) -> int:
    """When a version reaches a client. versions : time, and the partitions of each topic, after each change"""
    at_ms = versions[version][0]
    if requested_ms >= at_ms:
        return requested_ms
    missing = any(versions[version - 1][1][topic] == 0 for topic in topics)
    wait = 100
    while requested_ms < at_ms:
        requested_ms += wait if missing else max_age_ms
        wait = min(2 * wait, 1_000)
    return requested_ms
