"""A company's records: what the jobs compute, and Spark, which runs them."""
