"""Sample checkpoints: what is made, by which query, damaged how; and how to put one back at a place."""
