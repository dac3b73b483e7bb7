"""Several resources evened out together: bytes, rates, CPU, replicas and leaders."""
