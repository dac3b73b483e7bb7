"""The service under Gunicorn."""
