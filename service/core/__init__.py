"""The arithmetic: standard library, NumPy and Numba only, so that Spark executors and notebooks get it without the service."""
