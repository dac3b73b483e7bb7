"""A plan's summary, tables and report: of the job ``reassign``, which reads tables, and of ``reassign --into``."""
