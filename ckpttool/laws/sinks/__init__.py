"""What a sink makes of the next batch."""
