"""Local files of records: Parquet, CSV and JSON lines, read with PyArrow, and the rows in them that cannot be read."""
