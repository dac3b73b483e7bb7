"""What happened to groups: from records of ``__consumer_offsets`` to tables and a report."""
