"""What each of several numbers of members would mean for a group."""
