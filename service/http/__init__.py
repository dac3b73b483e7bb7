"""What every HTTP request shares."""
