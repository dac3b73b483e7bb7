"""The most even assignment, with the fewest moves and the most reads on the own rack: this project's own assignor."""
