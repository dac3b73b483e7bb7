"""Solvers for questions that have an exact optimum."""
