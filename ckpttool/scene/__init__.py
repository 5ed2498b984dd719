"""What was seen of a query, as values, and what follows from it. Pure."""
