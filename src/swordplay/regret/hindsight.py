"""What would have been best, seen from the end."""
