"""Reads the rows of state stores: which tables an operator keeps, their entries at a version, and what these say."""
