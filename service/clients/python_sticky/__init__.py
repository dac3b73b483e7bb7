"""The Python stickies."""
