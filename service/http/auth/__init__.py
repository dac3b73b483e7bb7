"""Who may call: bearer tokens and JWTs."""
