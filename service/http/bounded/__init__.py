"""What is read whole from outside, up to a size: small files, and small responses of HTTP servers."""
