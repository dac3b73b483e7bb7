"""Arrow streams as bodies: their limits and their parser."""
