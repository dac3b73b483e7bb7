"""Every group assigned, every topic placed and audited: the job ``fleet``, and ``audit --into`` for topics."""
