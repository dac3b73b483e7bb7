"""What a group's history was: the lines of logs and records → events → rebalances, each statement with the line that says so.

``reading`` reads files line by line, ``logs`` and ``records`` know what lines mean, ``clocks`` puts events in order, ``course``
puts them together to rebalances, ``told`` and ``checks`` say what follows, ``answer`` is the entry. What no source tells stays
unknown.
"""
