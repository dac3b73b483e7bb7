"""``python -m service`` is the command ``partition-allocator``."""

from service.cli import main

main()
