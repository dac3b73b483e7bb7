"""Parameters of the commands and of the pipeline's jobs alike. Imports nothing of Spark, which most commands do not need."""
