"""Where changes are made: one file for each kind of storage."""
