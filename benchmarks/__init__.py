"""The service against the code that it replaces: ``make bench``, or ``python -m benchmarks NAME…`` for some of them.

A benchmark is one function in ``partitions.py``, ``groups.py`` or ``placements.py``; ``docs/evidence/benchmarks.md`` says what
each means.
"""
