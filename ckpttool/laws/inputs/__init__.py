"""What became of a source's input, and what Spark makes of that."""
