"""The Java behaviour that answers depend on: each primitive in one place, vectorised, tested against ``vectors/java``."""
