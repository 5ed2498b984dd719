"""What Spark makes of a query that is not the one that wrote the checkpoint."""
