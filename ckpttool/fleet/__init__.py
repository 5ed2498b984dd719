"""Many checkpoints at a time."""
