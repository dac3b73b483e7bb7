"""Commands that read files of keys: ``plan``, ``compare`` and ``fingerprint``, with ``--into``."""
