"""What a group's history was: the lines of logs and records → events → rebalances, each statement with the line that says so.

``reading`` reads the files line by line, ``broker_log`` and ``records`` know what the lines mean, ``course`` puts the events
together to rebalances, ``answer`` is the entry. What no source tells stays unknown.
"""
