"""Keys of questions: lists and Arrow columns → the core's columns."""
