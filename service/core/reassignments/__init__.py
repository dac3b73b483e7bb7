"""Reassignments: from the current placement of replicas to the one that is wanted, with as few copies as possible."""
