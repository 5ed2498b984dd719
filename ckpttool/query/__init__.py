"""What a query is: as its job has it, or as a checkpoint shows it. One value for both, so that they can be compared."""
