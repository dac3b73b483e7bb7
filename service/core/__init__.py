"""The arithmetic, which Spark executors and notebooks import without the service.

It imports the standard library, NumPy and Numba, and SciPy in two modules (``attribution.mixtures``, ``sizing.random_baseline``).
"""
