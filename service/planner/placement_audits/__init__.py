"""Could a placer have placed a topic this way, by which draws, and how evenly does it place such a topic over all its draws?"""
