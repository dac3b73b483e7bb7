"""Does someone else's program answer as Kafka and its clients do? For people who write brokers and clients.

The program is asked line by line (``comparison.py``): what real libraries have answered (``vectors.jsonl.gz``), then random
groups and keys, until the first answer that differs, which is made as small as it can be. The protocol is in docs/extending.md.
"""
