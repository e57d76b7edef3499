"""What reading files shares."""
