"""Solvers of problems with an exact optimum."""
