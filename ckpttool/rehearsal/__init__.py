"""The next batch of a query, really run on a clone of its checkpoint."""
