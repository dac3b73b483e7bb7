"""The sticky assignors of the classic protocol. ``sticky`` and ``cooperative`` are the entry points."""
