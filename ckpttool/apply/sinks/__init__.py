"""Sinks that have a log of their own, which is changed together with the checkpoint."""
