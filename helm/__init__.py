"""The Helm chart, and what writes parts of it."""
