"""What happened, where several findings come of one thing."""
