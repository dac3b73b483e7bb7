"""The arithmetic, which Spark executors and notebooks import without the service.

It imports the standard library, NumPy, Numba and mmh3.
"""
